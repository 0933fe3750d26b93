"""What is alive of a daemon: known by ``HOME`` in the environment, which all children inherit."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import Process

GLANCE = 0.02  # seconds between two looks at /proc
PROC = Path("/proc")


def send(process: Process, number: signal.Signals) -> None:
    """Send a signal to a child, which may have ended just now.

    Not by its own method, which reaps it, so that nobody learns how it ended.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def of_home(home: Path) -> list[int]:
    """Every living process with this HOME, whoever started it."""
    mark = b"HOME=" + bytes(home)
    found = []
    for folder in PROC.iterdir():
        try:
            if folder.name.isdecimal() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # it ended meanwhile, or is another user's
    return found


def children(pid: int) -> list[int]:
    """The children of all threads of a process, dead ones that it did not reap included."""
    found: list[int] = []
    with suppress(OSError):  # it has ended meanwhile
        for thread in (PROC / f"{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """The children of a process, theirs, and so on."""
    return [below for child in children(pid) for below in (child, *descendants(child))]


def is_zombie(pid: int) -> bool:
    """Whether a process is dead and not reaped."""
    try:
        return (PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


async def outlived(pids: list[int], seconds: float) -> list[int]:
    """Which of the processes live after so many seconds; returns as soon as none does."""
    alive = list(pids)
    with anyio.move_on_after(seconds):
        while alive := [pid for pid in alive if _alive(pid)]:  # noqa: ASYNC110 - /proc has no events
            await anyio.sleep(GLANCE)
    return alive


async def zombies(pid: int, seconds: float) -> list[int]:
    """What below a process has still not been reaped after so many seconds."""
    found: list[int] = []
    with anyio.move_on_after(seconds):
        # Polled, as /proc has no events.
        while found := [child for child in descendants(pid) if is_zombie(child)]:  # noqa: ASYNC110 - see above
            await anyio.sleep(GLANCE)
    return found


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not is_zombie(pid)
