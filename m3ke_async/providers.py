"""Which providers there are: one checked TOML file each, `providers/NAME.toml`.

How a file looks is described in docs/providers.md.
"""

from __future__ import annotations

import filecmp
from pathlib import Path
from typing import TYPE_CHECKING

from m3ke_async.assets import asset
from m3ke_async.errors import DataError, UsageError
from m3ke_async.places import config_dir
from m3ke_async.profile_file import read_profile
from m3ke_async.scrub import scrub
from m3ke_async.toml_table import read_toml

if TYPE_CHECKING:
    from m3ke_async.profile import Profile

#: Rules that hold for most providers, asked after a provider's own.
_GENERAL = "_general.toml"
_SUFFIX = ".toml"


def profile_folders() -> tuple[Path, ...]:
    """Where provider files lie: beside the work, in the user's configuration folder, and what is shipped."""
    return (Path("providers"), config_dir() / "providers", asset("providers"))


def profile_names() -> tuple[str, ...]:
    """Names of all providers, sorted; a file need not be right for its name to be here."""
    return tuple(sorted(paths[0].stem for paths in find_profiles().values()))


def load_profile(name: str) -> Profile:
    """The provider of that name; only its file and the general rules are read.

    Raises:
        UsageError: there is no such provider.
        DataError: its file is wrong, or there are two of its name.
    """
    return read_profile(_find(name), general=asset("providers") / _GENERAL)


def parse_model(text: str) -> tuple[str, str]:
    """The provider and the model of `provider/model`; the model may hold slashes, colons and dots.

    Raises:
        UsageError: the form is another, or there is no such provider.
        DataError: there are two of its name.
    """
    provider, slash, model = text.strip().partition("/")
    if not slash or not provider or not model:
        raise UsageError(
            f"{scrub(text, None)!r} is not a model: write provider/model, such as vllm/Qwen3-8B; "
            "for any other OpenAI-compatible address write custom/NAME --base-url URL"
        )
    _find(provider)
    return provider, model


def title_of(name: str) -> str:
    """A provider as it is named to people who may ask it next."""
    paths = find_profiles().get(name.casefold())
    return f"{read_toml(paths[0]).text('title')} ({name})" if paths else name


def find_profiles() -> dict[str, list[Path]]:
    """Files of all providers by name without regard to case, those of one name in the folders' order."""
    found: dict[str, list[Path]] = {}
    for folder in profile_folders():
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            if not path.name.startswith("_"):
                found.setdefault(path.stem.casefold(), []).append(path)
    return found


def _find(name: str) -> Path:
    files = find_profiles()
    paths = files.get(name.casefold(), [])
    if name not in (path.stem for path in paths):
        raise UsageError(_unknown_provider(name, files))
    return _only(paths)


def _only(paths: list[Path]) -> Path:
    """The file of a name; a second one that says something else would hide what the first says."""
    for other in paths[1:]:
        if not _same(paths[0], other):
            raise DataError(
                f"there is another provider of this name, {other}: rename or delete one", file=paths[0]
            )
    return paths[0]


def _same(one: Path, two: Path) -> bool:
    """Whether it is one file, or a copy of it: in a checkout the shipped files lie beside the work."""
    if one.resolve() == two.resolve():
        return True
    try:
        return one.name == two.name and filecmp.cmp(one, two, shallow=False)
    except OSError:
        return False


def _unknown_provider(name: str, files: dict[str, list[Path]]) -> str:
    from difflib import get_close_matches

    word = name.casefold()
    near = [files[one][0].stem for one in get_close_matches(word, files, n=3)]
    # Brands stand in the titles: Doubao is served by Volcengine Ark.
    for paths in files.values():
        other = paths[0].stem
        if len(word) > 2 and other not in near and (word in other.casefold() or word in _title(paths[0])):
            near.append(other)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return (
        f"there is no provider {scrub(name, None)!r}: {meant}`m3ke providers` lists all; "
        "for any other OpenAI-compatible address write custom/NAME --base-url URL"
    )


def _title(path: Path) -> str:
    try:
        title: str = read_toml(path).text("title", "")
    except DataError:  # a wrong file concerns those who ask for its own provider
        return ""
    return title.casefold()
