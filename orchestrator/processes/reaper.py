"""Find orphaned descendants in /proc, adopt them in place of init, end and reap them."""

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
FINAL_CHECKS = 100  # for remaining processes when the daemon ends
FINAL_PAUSE = 0.01  # seconds between two checks


class Process(NamedTuple):
    """A process with its parent and session."""

    pid: int
    parent: int
    session: int


def iter_processes() -> Iterator[Process]:
    """Yield every process, zombies too (proc_pid_stat(5), fields 4 and 6)."""
    for pid in _list_pids():
        with suppress(OSError):  # it ended meanwhile
            # The second field is a name in parentheses, which may contain anything.
            fields = _read_stat(pid).rpartition(b")")[2].split()
            yield Process(pid, int(fields[1]), int(fields[3]))


def _list_pids() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def _read_stat(pid: int) -> bytes:
    """Read the file without a file object: there may be hundreds of processes."""
    fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    try:
        return os.read(fd, STAT_SIZE)
    finally:
        os.close(fd)


def iter_session_members(session: int) -> Iterator[int]:
    """Yield the processes of a session."""
    for pid in _list_pids():
        with suppress(OSError):  # it has ended, or belongs to another user
            if os.getsid(pid) == session:
                yield pid


async def wait_for_process_end(pid: int) -> None:
    """Wait until a process has ended, even if others hold its pipes."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:  # it has been reaped
        return
    try:
        await anyio.wait_readable(pidfd)
    finally:
        os.close(pidfd)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, in place of init."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


async def reap_orphans(reaped_elsewhere: Callable[[Process], bool]) -> None:
    """Kill and reap orphans that this process has adopted, until cancelled.

    A process with a session of its own survives its parent's session. It becomes a child of this
    process when its parent dies, which raises SIGCHLD.
    """
    with anyio.open_signal_receiver(signal.SIGCHLD) as signals:
        async for _ in signals:
            for process in iter_processes():
                if process.parent == os.getpid() and not reaped_elsewhere(process):
                    _kill_and_reap(process.pid)


def end_orphans() -> None:
    """Kill and reap all remaining children, once those that others reap have gone."""
    for _ in range(FINAL_CHECKS):
        left = [process.pid for process in iter_processes() if process.parent == os.getpid()]
        if not left:
            return
        for pid in left:
            _kill_and_reap(pid)
        time.sleep(FINAL_PAUSE)


def _kill_and_reap(pid: int) -> None:
    with suppress(ChildProcessError, ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)
