"""Wheels with data members, and a pip that gets them from memory."""

from __future__ import annotations

import hashlib
import io
import zipfile
from typing import TYPE_CHECKING

from m3ke_async.wheels import Wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def pack(members: dict[str, bytes]) -> bytes:
    """A wheel's bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class FakePip:
    """Holds wheels by `package==version`; does what `pip download` with pinned hashes does.

    Attributes:
        asked: the packages of every call, in order.
        arguments: of the last call.
    """

    def __init__(self) -> None:
        self.wheels: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.arguments: list[str] = []

    def add(self, package: str, content: bytes, *, extra: dict[str, bytes] | None = None) -> Wheel:
        """Publish a wheel with this content as its data member, and describe it."""
        member = f"{package}/data.bin"
        packed = pack({f"{package}/__init__.py": b"raise SystemExit", member: content} | (extra or {}))
        self.wheels[f"{package}==1.0"] = packed
        return Wheel(package, "1.0", hashlib.sha256(packed).hexdigest(), member, len(content))

    def __call__(self, arguments: list[str], folder: Path, tick: Callable[[], None]) -> tuple[int, str]:
        self.arguments = arguments
        pin = (folder / "requirements.txt").read_text()
        name, _, digest = pin.strip().partition(" --hash=sha256:")
        self.asked.append(name.partition("==")[0])
        wheel = self.wheels.get(name)
        tick()
        if wheel is None:
            return (
                1,
                f"Looking somewhere\nERROR: no such thing\nERROR: No matching distribution found for {name}",
            )
        if hashlib.sha256(wheel).hexdigest() != digest:
            return 1, "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"
        (folder / f"{name.replace('==', '-')}-py3-none-any.whl").write_bytes(wheel)
        tick()
        return 0, ""
