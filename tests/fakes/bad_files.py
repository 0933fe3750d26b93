"""What people, agents and accidents put in the place of a file."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LARGE = 64 * 1024 * 1024  # bytes, over every limit; the file is sparse


def _large(path: Path) -> None:
    path.touch()
    os.truncate(path, LARGE)


def _unreadable(path: Path) -> None:
    path.touch(mode=0)


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


BAD: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "directory": Path.mkdir,
    "dangling": lambda path: path.symlink_to("nothing-there"),
    "circle": _circle,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/ptmx"),
    "large": _large,
    "binary": lambda path: path.write_bytes(b"\x00\xff\xfe\x00" * 300),
    "NUL": lambda path: path.write_bytes(b"a\0b"),
    "deep": lambda path: path.write_bytes(b"[" * 100_000),
    **({"unreadable": _unreadable} if os.geteuid() else {}),
}
KINDS = (*BAD, "socket")


@contextmanager
def bad(kind: str, path: Path) -> Iterator[None]:
    """Put something unusable at the path, in the place of what is there, while the block runs."""
    path.unlink(missing_ok=True)
    if kind != "socket":
        BAD[kind](path)
        yield
        return
    # A path in an address is short, so it is bound from its folder.
    before = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(path.parent)
        try:
            server.bind(path.name)
        finally:
            os.chdir(before)
        yield
