"""Edits of files, told by the kernel (inotify).

Only what ends an edit is asked for: a file that is open and written to, as the journal beside
agents.json always is, wakes nobody.
"""

import ctypes
import os
import struct
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

DEBOUNCE = 0.4  # seconds at most until an edit is told
STEP = 0.1  # seconds of silence after which it is: an editor writes a file in several steps
ATTRIB, CLOSE_WRITE, MOVED, CREATE, DELETE = 0x4, 0x8, 0xC0, 0x100, 0x200  # linux/inotify.h
OVERFLOW, ONLYDIR = 0x4000, 0x1000000
EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
MOST = 1 << 16  # bytes of events read at once
LIBC = ctypes.CDLL(None, use_errno=True)


async def edits(folders: Iterable[Path], *, recursive: bool) -> AsyncGenerator[set[Path], None]:
    """The paths in folders that changed, edit by edit, from the first wait on.

    A folder that comes back is watched again.

    Raises:
        OSError: the kernel's limit of watches is reached.
    """
    places = tuple(folders)
    with _inotify() as descriptor:
        while True:
            watched = _watched(descriptor, places, recursive=recursive)
            await anyio.wait_readable(descriptor)
            changed: set[Path] = set()
            with anyio.move_on_after(DEBOUNCE):
                quiet = False
                while not quiet:
                    changed |= _read(descriptor, watched)
                    with anyio.move_on_after(STEP) as scope:
                        await anyio.wait_readable(descriptor)
                    quiet = scope.cancelled_caught
            yield changed


@contextmanager
def _inotify() -> Iterator[int]:
    descriptor = _checked(LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _watched(descriptor: int, places: Iterable[Path], *, recursive: bool) -> dict[int, Path]:
    """Watch folders that exist, and those in them; each by its number, which it keeps."""
    found: dict[int, Path] = {}
    for place in places:
        for folder, inner, _ in os.walk(place, followlinks=True):
            mask = ATTRIB | CLOSE_WRITE | MOVED | CREATE | DELETE | ONLYDIR
            try:
                watch = _checked(LIBC.inotify_add_watch(descriptor, os.fsencode(folder), mask))
            except (FileNotFoundError, PermissionError):
                continue
            if watch in found or not recursive:  # a link leads back to where we have been
                inner.clear()
            found.setdefault(watch, Path(folder))
    return found


def _read(descriptor: int, watched: dict[int, Path]) -> set[Path]:
    """The paths that the events at hand tell of; all there are, if some events were lost."""
    try:
        data = os.read(descriptor, MOST)
    except BlockingIOError:
        return set()
    paths, at = set[Path](), 0
    while at < len(data):
        watch, mask, _, length = EVENT.unpack_from(data, at)
        name = data[at + EVENT.size : at + EVENT.size + length].rstrip(b"\0")
        at += EVENT.size + length
        if mask & OVERFLOW:
            paths |= {path for folder in watched.values() for path in folder.iterdir()}
        elif watch in watched:
            paths.add(watched[watch] / os.fsdecode(name))
    return paths


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
