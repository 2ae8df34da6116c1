"""The machine: devices as torch tells them, memory and cores as the system does."""

from __future__ import annotations

import importlib.util
import os
import re
from typing import TYPE_CHECKING

import pytest

from m3ke_async.serving.machine import Device, cores, free_memory, look_at_machine

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30

#: Stands in for torch: two devices, as the functions that are asked would describe them.
FAKE_TORCH = """
from types import SimpleNamespace

class cuda:
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 2)
    mem_get_info = staticmethod(lambda number: ((70 + number) << 30, 80 << 30))
    get_device_properties = staticmethod(
        lambda number: SimpleNamespace(name=f"Card {number}", major=9, minor=number)
    )
"""


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file that is torch for this process and its children."""
    file = tmp_path / "library" / "torch.py"
    file.parent.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(file.parent))
    monkeypatch.syspath_prepend(str(file.parent))
    return file


def test_torch_tells_the_devices(torch: Path) -> None:
    torch.write_text(FAKE_TORCH)
    machine = look_at_machine()
    assert machine.unknown is None
    assert machine.devices == (
        Device("Card 0", 80 * GIB, 70 * GIB, (9, 0)),
        Device("Card 1", 80 * GIB, 71 * GIB, (9, 1)),
    )


def test_a_machine_without_a_gpu_has_none(torch: Path) -> None:
    torch.write_text(FAKE_TORCH.replace("lambda: True", "lambda: False"))
    machine = look_at_machine()
    assert (machine.devices, machine.unknown) == ((), None)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise ImportError('libcudart.so.13: cannot open')", r"torch does not work here .*libcudart"),
        ("import os; os._exit(1)", "torch does not work here .it printed nothing"),
        ("import os; os._exit(0)", "torch does not answer"),
    ],
)
def test_a_torch_that_does_not_work_leaves_the_devices_unknown(torch: Path, code: str, why: str) -> None:
    torch.write_text(code)
    machine = look_at_machine()
    assert machine.devices == ()
    assert machine.unknown is not None
    assert re.search(why, machine.unknown)


def test_torch_need_not_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    machine = look_at_machine()
    assert machine.unknown == "torch is not installed (pip install '.[gpu]' in the clone of m3ke-async)"


def system(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / {"meminfo": "proc/meminfo"}.get(name, f"sys/fs/cgroup/memory.{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({"meminfo": "MemTotal: 16 kB\nMemAvailable: 4096 kB\n"}, 4096 << 10),
        ({"meminfo": "MemAvailable: 4096 kB\n", "max": "max", "current": "1"}, 4096 << 10),
        ({"meminfo": "MemAvailable: 4096 kB\n", "max": "3000", "current": "1000"}, 2000),
        ({"meminfo": "MemAvailable: 4096 kB\n", "max": "3000", "current": "4000"}, 0),
    ],
)
def test_free_memory_is_what_the_system_or_a_container_leaves(
    tmp_path: Path, files: dict[str, str], free: int
) -> None:
    assert free_memory(system(tmp_path, **files)) == free


@pytest.mark.skipif(os.name != "posix", reason="Windows does not tell")
def test_where_nothing_tells_it_the_installed_memory_counts(tmp_path: Path) -> None:
    assert (free_memory(tmp_path) or 0) >= GIB


@pytest.mark.parametrize(
    ("quota", "at_most"),
    [("100000 100000", 1), ("30000 100000", 1), ("max 100000", 1 << 16), (None, 1 << 16)],
)
def test_threads_are_the_cores_that_may_be_used(tmp_path: Path, quota: str | None, at_most: int) -> None:
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    assert cores(file) == min(cores(tmp_path / "absent"), at_most) >= 1
