"""Memory, processor time and age of the daemon's processes, as Linux counts them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from orchestrator.extensions.page.daemon_side.page_protocol import (
    ProcessFigures,
    ProcessNumbers,
    ProcessTable,
)

PROC = Path("/proc")
MAX_DEPTH = 4  # supervisor, zygote, worker, and one more
# Fields of /proc/PID/stat after the name, see proc_pid_stat(5).
PARENT, USER_TICKS, SYSTEM_TICKS, STARTED_TICKS, PAGES = 1, 11, 12, 19, 21


class _Stat(NamedTuple):
    parent: int
    ticks: int
    started: int
    pages: int


def measure_processes(wanted: ProcessNumbers, root: int, proc: Path = PROC) -> ProcessTable:
    """Return the figures of those processes that descend from ``root``, or are it.

    None where ``/proc`` does not tell since when the machine runs, as in some containers.
    """
    try:
        uptime = float((proc / "uptime").read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return ProcessTable(processes=())
    return ProcessTable(processes=tuple(_measure_each(wanted.pids, root, uptime, proc)))


def _measure_each(
    pids: tuple[int, ...], root: int, uptime: float, proc: Path
) -> Iterator[ProcessFigures]:
    per_second, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE")
    for pid in pids:
        found = _read_stat(pid, proc)
        if found is None or not _descends(pid, root, proc):
            continue
        age = max(0.0, uptime - found.started / per_second)
        yield ProcessFigures(
            pid=pid,
            memory_bytes=_read_private_bytes(pid, proc) or found.pages * page,
            cpu_seconds=found.ticks / per_second,
            age_seconds=age,
        )


def _read_private_bytes(pid: int, proc: Path) -> int:
    """Return the memory that a process shares with no other; 0 where Linux does not tell."""
    try:
        lines = (proc / str(pid) / "smaps_rollup").read_text("ascii").splitlines()
        sizes = [line.split()[1] for line in lines if line.startswith("Private_")]
        return sum(map(int, sizes)) * 1024
    except (OSError, ValueError, IndexError):
        return 0


def _descends(pid: int, root: int, proc: Path) -> bool:
    for _ in range(MAX_DEPTH):
        if pid == root:
            return True
        found = _read_stat(pid, proc)
        if found is None:
            return False
        pid = found.parent
    return pid == root


def _read_stat(pid: int, proc: Path) -> _Stat | None:
    """Return the numbers of a process; None if it has ended."""
    try:
        fields = (proc / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        numbers = [int(fields[place]) for place in (PARENT, USER_TICKS, SYSTEM_TICKS)]
        return _Stat(
            numbers[0], numbers[1] + numbers[2], int(fields[STARTED_TICKS]), int(fields[PAGES])
        )
    except (OSError, ValueError, IndexError):
        return None
