"""What descendants leave behind: found in /proc, adopted in the place of init, ended and reaped."""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import anyio

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
STAT_SIZE = 4096  # bytes; a line of 52 numbers and a short name
FINAL_CHECKS = 100  # at what is left in the end
FINAL_PAUSE = 0.01  # seconds between two of them


class Process(NamedTuple):
    """A process and whose it is."""

    pid: int
    parent: int
    group: int
    session: int


def processes() -> Iterator[Process]:
    """Every process, zombies too (proc_pid_stat(5), fields 4 to 6)."""
    for pid in _pids():
        with suppress(OSError):  # it ended meanwhile
            # The second field is a name in parentheses, which may hold anything.
            fields = _stat(pid).rpartition(b")")[2].split()
            yield Process(pid, *map(int, fields[1:4]))


def _pids() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def _stat(pid: int) -> bytes:
    """Read without the layers of a file object: there may be hundreds, and a chat that waits."""
    fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    try:
        return os.read(fd, STAT_SIZE)
    finally:
        os.close(fd)


def members(session: int, group: int | None = None) -> Iterator[int]:
    """The processes of a session, or of one group in it."""
    for pid in _pids():
        with suppress(OSError):  # it ended meanwhile, or nobody may ask
            if os.getsid(pid) == session and group in (None, os.getpgid(pid)):
                yield pid


def adopt_orphans() -> None:
    """Become the parent of whatever our descendants leave behind, in the place of init."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


async def reap_orphans(ours: Callable[[Process], bool], *, end: bool) -> None:
    """Reap what was left behind to us, until cancelled; ``end`` it first (P1, P2).

    A process that has made a session of its own outlives its parent's. It becomes our child at the
    moment in which that parent dies, and SIGCHLD tells of it. ``ours`` are the children that
    somebody else reaps.
    """
    with anyio.open_signal_receiver(signal.SIGCHLD) as signals:
        async for _ in signals:
            for process in processes():
                if process.parent == os.getpid() and not ours(process):
                    _reap(process.pid, end=end)


def end_orphans() -> None:
    """End whatever is left below this process, when it has no children of its own any more."""
    for _ in range(FINAL_CHECKS):
        left = [process.pid for process in processes() if process.parent == os.getpid()]
        if not left:
            return
        for pid in left:
            _reap(pid, end=True)
        time.sleep(FINAL_PAUSE)


def _reap(pid: int, *, end: bool) -> None:
    with suppress(ChildProcessError, ProcessLookupError, PermissionError):
        if end:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)
