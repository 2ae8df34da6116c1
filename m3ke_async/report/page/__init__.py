"""Pages that open from disk: a skeleton, a stylesheet, and one script that a policy names by its hash.

The files lie in this folder. A content security policy in the page lets no other script run and no address
be asked.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m3ke_async.request import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PAGE_END = b"</body>\n</html>\n"

_FOLDER = Path(__file__).parent
#: In the order in which they need each other.
_LIBRARIES = ("d3", "plot")


def page_head(summary: Mapping[str, Any], scripts: Iterable[str]) -> bytes:
    """Everything of a page but data that may follow, and `PAGE_END`.

    Args:
        summary: what the script reads at once, as JSON.
        scripts: names of files in this folder, which share one scope.
    """
    script = _script(scripts)
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{allowed}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "style": _read("page.css"),
        # JSON has `<` in strings only, where it may be written as an escape.
        "summary": dump_json(dict(summary)).decode().replace("<", "\\u003c"),
        "script": script,
    }
    first, *rest = _read("page.html").split("{{")
    filled = [first]
    for piece in rest:
        name, _, after = piece.partition("}}")
        filled += [parts[name], after]
    return "".join(filled).encode()


def _script(names: Iterable[str]) -> str:
    """The libraries with their licences, and the page's own code in a scope of its own."""
    libraries = "".join(
        f"/*! {_read(f'{name}.LICENSE')}*/\n{_read(f'{name}.min.js')}\n" for name in _LIBRARIES
    )
    own = "".join(map(_read, names))
    return f'{libraries}(() => {{\n"use strict";\n{own}}})();\n'


def _read(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")
