"""Which providers there are: one checked TOML file each, `providers/NAME.toml`.

How a file looks is described in docs/providers.md.
"""

from __future__ import annotations

from difflib import get_close_matches
from itertools import combinations
from typing import TYPE_CHECKING

from m3ke_async.assets import asset
from m3ke_async.errors import DataError, UsageError
from m3ke_async.profile import (
    BatchApi,
    BatchKind,
    Constraint,
    EndedModel,
    Fact,
    Hosting,
    LimitHeaders,
    Logprobs,
    Parameters,
    Price,
    Profile,
    ProtocolName,
    Support,
    Thinking,
    TokenParameter,
    UnknownFields,
    UsageFields,
    Window,
)
from m3ke_async.profile_file import read_profile
from m3ke_async.toml_table import read_toml

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "BatchApi",
    "BatchKind",
    "Constraint",
    "EndedModel",
    "Fact",
    "Hosting",
    "LimitHeaders",
    "Logprobs",
    "Parameters",
    "Price",
    "Profile",
    "ProtocolName",
    "Support",
    "Thinking",
    "TokenParameter",
    "UnknownFields",
    "UsageFields",
    "Window",
    "find_profiles",
    "load_profile",
    "parse_model",
    "profile_names",
    "read_profile",
]

#: Rules that hold for most providers, asked after a provider's own.
_GENERAL = "_general.toml"
_SUFFIX = ".toml"


def profile_names() -> tuple[str, ...]:
    """Names of all providers, sorted."""
    return tuple(sorted(find_profiles(asset("providers"))))


def load_profile(name: str) -> Profile:
    """The provider of that name; only its file and the general rules are read.

    Raises:
        UsageError: there is no such provider.
        DataError: its file is wrong.
    """
    folder = asset("providers")
    files = find_profiles(folder)
    if name not in files:
        raise UsageError(_unknown_provider(name, files))
    return read_profile(files[name], general=folder / _GENERAL)


def parse_model(text: str) -> tuple[str, str]:
    """The provider and the model of `provider/model`; the model may hold slashes, colons and dots.

    Raises:
        UsageError: the form is another, or there is no such provider.
    """
    provider, slash, model = text.strip().partition("/")
    if not slash or not provider or not model:
        raise UsageError(
            f"{text!r} is not a model: write provider/model, such as vllm/Qwen3-8B; "
            "for any other OpenAI-compatible address write custom/NAME --base-url URL"
        )
    files = find_profiles(asset("providers"))
    if provider not in files:
        raise UsageError(_unknown_provider(provider, files))
    return provider, model


def _unknown_provider(name: str, files: dict[str, Path]) -> str:
    word = name.casefold()
    near = get_close_matches(word, files, n=3)
    # Brands stand in the titles: Doubao is served by Volcengine Ark.
    near += [
        other
        for other, path in files.items()
        if len(word) > 2 and other not in near and (word in other or word in _title(path).casefold())
    ]
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return (
        f"there is no provider {name!r}: {meant}`m3ke providers` lists all; "
        "for any other OpenAI-compatible address write custom/NAME --base-url URL"
    )


def _title(path: Path) -> str:
    title: str = read_toml(path).text("title", "")
    return title


def find_profiles(folder: Path) -> dict[str, Path]:
    """Provider files in a folder by name.

    Raises:
        DataError: two files have one name but for upper and lower case.
    """
    files = sorted(path for path in folder.glob(f"*{_SUFFIX}") if not path.name.startswith("_"))
    for one, two in combinations(files, 2):
        if one.stem.casefold() == two.stem.casefold():
            raise DataError(f"there is another provider of this name, {one.name}; rename one", file=two)
    return {path.stem: path for path in files}
