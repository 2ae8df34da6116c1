"""What this machine has: devices by torch, main memory by the system.

torch is the extra `gpu` and need not be there. It looks in a process of its own: a process
that has asked about a device keeps some hundred megabytes of its memory.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from m3ke_async.extras import how_to_install
from m3ke_async.text import one_line

#: Seconds for torch to load and to wake the devices.
_PATIENCE = 120
_PROBE = """
import json, torch
found = []
for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
    device = torch.cuda.get_device_properties(number)
    free, total = torch.cuda.mem_get_info(number)
    capability = [device.major, device.minor]
    found.append({"name": device.name, "total": total, "free": free, "capability": capability})
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU.

    Attributes:
        name: as its driver says.
        total: bytes of memory.
        free: bytes that nobody uses now.
        capability: CUDA's compute capability, or what ROCm gives in its place.
    """

    name: str
    total: int
    free: int
    capability: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Machine:
    """What a server may use.

    Attributes:
        memory: bytes of main memory that are free; None where the system does not tell.
        devices: GPUs; empty on a machine without one.
        unknown: why the devices are not known; None where they are.
    """

    memory: int | None
    devices: tuple[Device, ...] = ()
    unknown: str | None = None


def look_at_machine() -> Machine:
    """This machine as it is now."""
    memory = free_memory()
    if importlib.util.find_spec("torch") is None:
        return Machine(memory, unknown=f"torch is not installed ({how_to_install('gpu')})")
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            [sys.executable, "-c", _PROBE], capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
        rows = json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        return Machine(memory, unknown=f"torch does not work here ({one_line(last)})")
    except (subprocess.TimeoutExpired, OSError, ValueError, IndexError) as error:
        return Machine(memory, unknown=f"torch does not answer ({one_line(str(error))})")
    devices = tuple(Device(**row | {"capability": tuple(row["capability"])}) for row in rows)
    return Machine(memory, devices)


def free_memory(system: Path = Path("/")) -> int | None:
    """Bytes of main memory that a new process may take; a container's limit counts.

    Args:
        system: root of the files that Linux tells it in.
    """
    free = _installed()
    with suppress(OSError, ValueError, StopIteration):
        lines = (system / "proc/meminfo").read_text("ascii").splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    with suppress(OSError, ValueError):  # absent, or "max"
        group = system / "sys/fs/cgroup"
        limit, used = (int((group / name).read_text("ascii")) for name in ("memory.max", "memory.current"))
        free = max(min(limit - used, limit if free is None else free), 0)
    return free


def _installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """The cores that this process may use; a container's quota counts, which the system's count ignores."""
    try:
        mine = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        mine = os.cpu_count() or 1
    with suppress(OSError, ValueError):  # absent, or "max 100000"
        time, period = quota.read_text("ascii").split()
        mine = min(mine, round(int(time) / int(period)))
    return max(mine, 1)
