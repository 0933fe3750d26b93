"""Find the descendants of a process, and the kernel's data about each."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio

POLL = 0.02  # seconds between two reads of /proc
PROC = Path("/proc")


def list_children(pid: int) -> list[int]:
    """Return the children of all threads of a process, including zombies."""
    found: list[int] = []
    with suppress(OSError):  # it has ended
        for thread in (PROC / f"{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def list_descendants(pid: int) -> list[int]:
    return [below for child in list_children(pid) for below in (child, *list_descendants(child))]


def is_zombie(pid: int) -> bool:
    try:
        return _read_stat_fields(pid)[0] == "Z"
    except OSError:
        return False


def read_processor_seconds(pid: int) -> float:
    """Return a process's processor time in seconds (fields 14 and 15)."""
    return sum(map(int, _read_stat_fields(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def _read_stat_fields(pid: int) -> list[str]:
    """Return the fields of proc_pid_stat(5) from the third on."""
    return (PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()


async def list_survivors(pids: list[int], seconds: float) -> list[int]:
    """Return the processes that still live after ``seconds``; return early when none does."""
    return await poll_until_empty(lambda: list(filter(_is_alive, pids)), seconds)


async def list_zombies(pid: int, seconds: float) -> list[int]:
    """Return the descendants that are still not reaped after ``seconds``."""
    return await poll_until_empty(lambda: list(filter(is_zombie, list_descendants(pid))), seconds)


async def poll_until_empty(find: Callable[[], list[int]], seconds: float) -> list[int]:
    """Return the result of ``find`` after ``seconds``; return early when it is empty."""
    found: list[int] = []
    with anyio.move_on_after(seconds):
        while found := find():  # noqa: ASYNC110 - /proc has no events to wait for
            await anyio.sleep(POLL)
    return found


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not is_zombie(pid)
