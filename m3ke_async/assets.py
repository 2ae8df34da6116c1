"""Where the files that ship with the package are, in a checkout and in an installation alike."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def asset(*parts: str) -> Path:
    """Path of a shipped file or folder, such as `asset("providers", "openai.toml")`.

    A wheel carries `providers/`, `data/` and `results/published.toml` below `_assets`;
    a checkout has them beside the package.
    """
    installed = _PACKAGE / "_assets"
    return (installed if installed.is_dir() else _PACKAGE.parent).joinpath(*parts)
