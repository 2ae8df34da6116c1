"""Keys taken out of text that is shown or stored.

Providers repeat the key in their errors, whole or in part; addresses carry keys in
their query or before an `@`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What stands where a key was.
MARK = "[key]"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: Shorter keys are placeholders such as "x"; removing them would only spoil the text.
_SHORTEST_KEY = 4
#: This many characters in a row that a text shares with the key are part of the key.
_RUN = 8

# Words that only look like keys ("Bearer authentication") hold neither digit nor star.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<=://)[^\s/@]+@"), f"{MARK}@"),
    (
        re.compile(
            r"([?&][\w.-]*(?:key|token|secret|password|signature|sig|auth)[\w.-]*=)(?!\[key\])[^&\s#\"'<>]+",
            re.IGNORECASE,
        ),
        rf"\g<1>{MARK}",
    ),
    (re.compile(r"(\bBearer\s+)(?=\S*[\d*])[^\s\"',;<>]{6,}", re.IGNORECASE), rf"\g<1>{MARK}"),
    (
        re.compile(
            r"(\b(?:api[-_ ]?key|access[-_]token|secret[-_]key|authorization)[\"']?\s*[:=]\s*[\"']?)"
            r"(?=[\w*.-]*[\d*])[\w*.-]{8,}",
            re.IGNORECASE,
        ),
        rf"\g<1>{MARK}",
    ),
    (re.compile(r"\b(?:sk|pk|rk|gsk|hf|xai|nvapi)[-_][\w*….-]*[\w*]"), MARK),
    (re.compile(r"\bbce-v3/[\w/*-]+|\bAIza[\w*-]{8,}|\beyJ[\w-]+\.[\w-]+\.[\w-]+"), MARK),
    (re.compile(r"[\w-]*\*{3,}[\w-]*"), MARK),  # a key that was masked by the provider
)


def scrub_all(text: str, secrets: Iterable[str]) -> str:
    """`scrub` for every one of the secrets."""
    text = scrub(text, None)
    for secret in secrets:
        text = scrub(text, secret)
    return text


def scrub(text: str, key: str | None) -> str:
    """The text without the key, without any part of it, and without what looks like a key.

    Args:
        text: foreign text, such as an error message or an address.
        key: the key that was sent, where there is one.
    """
    if key and len(key) >= _SHORTEST_KEY:
        for form in {key, quote(key, safe="")}:
            text = _without_runs(text.replace(form, MARK), form)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def is_variable(text: str) -> bool:
    """Whether it is a name that an environment variable may have, and not a key given in its place."""
    return bool(_VARIABLE.fullmatch(text)) and scrub(text, None) == text


def _without_runs(text: str, key: str) -> str:
    """Replace every run of `_RUN` or more characters that also stands in the key."""
    runs = {key[start : start + _RUN] for start in range(len(key) - _RUN + 1)}
    kept: list[str] = []
    hidden_until = 0  # index in text up to which characters are known to belong to the key
    for index, character in enumerate(text):
        if text[index : index + _RUN] in runs:
            if hidden_until <= index:
                kept.append(MARK)
            hidden_until = index + _RUN
        if index >= hidden_until:
            kept.append(character)
    return "".join(kept)
