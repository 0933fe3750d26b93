"""Find a daemon's processes by a mark that all children inherit."""

import resource
import zlib
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
LIMIT, NAME = resource.RLIMIT_MSGQUEUE, "Max msgqueue size"  # of POSIX message queues
MARKS = 800_000  # the usual limit is a little higher


def mark_process(pid: int, home: Path) -> None:
    """Mark a process, and all its later children, as belonging to a home.

    The mark is a limit that nothing here uses: children inherit it, and unlike the environment of a
    hardened process everybody can read it.
    """
    hard = resource.prlimit(pid, LIMIT)[1]
    resource.prlimit(pid, LIMIT, (_compute_mark(home, hard), hard))


def list_marked_processes(home: Path) -> list[int]:
    """Return the ids of all living processes with the mark of this home."""
    found = []
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):  # it has ended
                soft, hard = _read_limits(folder)
                # A process that has ended keeps its limits until reaped.
                if soft == _compute_mark(home, hard) and not _has_ended(folder):
                    found.append(int(folder.name))
    return found


def _has_ended(folder: Path) -> bool:
    """Return whether a process waits to be reaped."""
    return (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"


def _compute_mark(home: Path, hard: int) -> int:
    return zlib.crc32(bytes(home)) % (hard if 0 < hard < MARKS else MARKS)


def _read_limits(folder: Path) -> tuple[int, int]:
    """Return the soft and the hard limit of a process."""
    (line,) = (line for line in (folder / "limits").read_text().splitlines() if NAME in line)
    soft, hard = line.removeprefix(NAME).split()[:2]
    return int(soft), resource.RLIM_INFINITY if hard == "unlimited" else int(hard)
