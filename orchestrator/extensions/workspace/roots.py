"""The folders of a workspace: where a path leads, and opening it without leaving its folder.

The kernel resolves each path beneath the handle of a folder (openat2(2)), so no ``..``, link or
exchange of folders meanwhile leads out. A kernel without that call follows no links at all.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from orchestrator.extensions.workspace import workspace_folders
from orchestrator.extensions.workspace.served_tool import CallFailure
from thinker.jail import kernel

OPENAT2 = 437  # on every architecture
NO_MAGIC_LINKS, BENEATH = 2, 8  # linux/openat2.h
FLAGS = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
FOLDER = os.O_RDONLY | os.O_DIRECTORY
ATTEMPTS = 8  # while something is renamed on the way
KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class Root:
    """A folder that the tools may use. ``admits`` decides by the first name below it."""

    path: Path
    writable: bool = False
    admits: Callable[[str], bool] = lambda _: True


@dataclass(frozen=True)
class RootedPath:
    """A path below a root; ``parts`` is empty for the root itself."""

    root: Root
    parts: tuple[str, ...]

    @property
    def shown_path(self) -> str:
        return str(self.root.path.joinpath(*self.parts))

    @property
    def relative_path(self) -> str:
        return "/".join(self.parts) or "."


@dataclass(frozen=True)
class Roots:
    """The workspace, which relative paths and ``~`` mean, and the other folders."""

    workspace: Root
    others: Sequence[Root] = ()

    def resolve_path(self, text: str) -> RootedPath:
        """Return the place that a path leads to, without accessing it.

        Raises:
            CallFailure: the path is in none of the folders.
        """
        if "\0" in text or not text:
            raise CallFailure("the path is empty or has a NUL character; correct it")
        if text == "~" or text.startswith("~/"):
            text = str(self.workspace.path) + text[1:]
        path = self._follow_skill_link(Path(os.path.normpath(self.workspace.path / text)))
        best: Root | None = None
        for root in (self.workspace, *self.others):
            inside = path == root.path or root.path in path.parents
            if inside and (best is None or len(root.path.parts) > len(best.path.parts)):
                best = root
        if best is None:
            raise CallFailure(f"{text!r} is outside of what you may use: {self.describe_folders()}")
        parts = path.parts[len(best.path.parts) :]
        if parts and not best.admits(parts[0]):
            raise CallFailure(f"{text!r} is not one of this agent's skills")
        return RootedPath(best, parts)

    def _follow_skill_link(self, path: Path) -> Path:
        """Return a path with the workspace's link to a skill replaced by the skill's folder."""
        home = self.workspace.path
        if not path.is_relative_to(home):
            return path
        return workspace_folders.resolve_skill_link(home, path.relative_to(home).parts)

    def describe_folders(self) -> str:
        """Describe the folders."""
        others = [f"{r.path} ({'' if r.writable else 'read-only'})" for r in self.others]
        return ", ".join([f"the workspace {self.workspace.path}", *others]).replace(" ()", "")


def build_skill_root(folder: Path, globs: Sequence[str]) -> Root:
    """Return a folder of skills, of which the agent may use those that the globs admit."""
    return Root(folder, admits=lambda name: any(fnmatchcase(name, glob) for glob in globs))


@contextmanager
def open_path(place: RootedPath, flags: int) -> Iterator[int]:
    """Open a path beneath its root, without waiting for a pipe or a device.

    Raises:
        CallFailure: the path does not exist, leads out of its folder, or cannot be opened.
    """
    fd = _open_in_root(place, flags)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_regular_file(place: RootedPath) -> Iterator[int]:
    """Open a regular file to read.

    Raises:
        CallFailure: as for `open_path`, or the path is not a regular file.
    """
    with open_path(place, os.O_RDONLY) as fd:
        kind = stat.S_IFMT(os.fstat(fd).st_mode)
        if kind != stat.S_IFREG:
            raise CallFailure(f"{place.shown_path} is {KINDS.get(kind, 'a device')}, not a file")
        yield fd


@contextmanager
def open_parent(place: RootedPath) -> Iterator[tuple[int, str]]:
    """Open the folder of a file to be written, made if missing; yield the folder and the name.

    Raises:
        CallFailure: the place is read-only or a folder of its own, or leads out.
    """
    if not place.root.writable:
        raise CallFailure(f"{place.shown_path} is read-only; write to the workspace")
    if not place.parts or place.parts[-1] in ("..", "."):
        raise CallFailure(f"{place.shown_path} is a folder; name a file")
    folder = RootedPath(place.root, place.parts[:-1])
    for depth in range(1, len(folder.parts) + 1):
        above = RootedPath(place.root, folder.parts[: depth - 1])
        with open_path(above, FOLDER) as fd, suppress(FileExistsError):
            os.mkdir(folder.parts[depth - 1], 0o700, dir_fd=fd)
    with open_path(folder, FOLDER) as fd:
        yield fd, place.parts[-1]


def _open_in_root(place: RootedPath, flags: int) -> int:
    root = os.open(place.root.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _open_beneath(root, place.relative_path, flags | FLAGS)
    except OSError as error:
        raise _build_failure(place, error) from error
    finally:
        os.close(root)


def _open_beneath(root: int, path: str, flags: int) -> int:
    how = _How(flags, 0, BENEATH | NO_MAGIC_LINKS)
    name = ctypes.create_string_buffer(os.fsencode(path))
    arguments = (root, ctypes.addressof(name), ctypes.addressof(how), ctypes.sizeof(how))
    for _ in range(ATTEMPTS):
        try:
            return kernel.syscall(OPENAT2, *arguments)
        except OSError as error:
            if error.errno in (errno.ENOSYS, errno.EPERM):
                return _open_step_by_step(root, path, flags)
            if error.errno != errno.EAGAIN:
                raise
    raise OSError(errno.EAGAIN, "folders on the way are being renamed; try again")


def _open_step_by_step(root: int, path: str, flags: int) -> int:
    """Open a path on a kernel without openat2, or where a filter forbids it; follow no link."""
    *folders, last = path.split("/")
    if ".." in (*folders, last):
        raise OSError(errno.EXDEV, "leaves its folder")
    at = os.dup(root)
    for name in folders:
        try:
            below = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
        finally:
            os.close(at)
        at = below
    try:
        return os.open(last, flags | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)


def _build_failure(place: RootedPath, error: OSError) -> CallFailure:
    reasons = {
        errno.EXDEV: "leads out of its folder",
        errno.ELOOP: "is a link that may not be followed",
        errno.ENOENT: "does not exist",
        errno.ENOTDIR: "is not a folder, or lies below a file",
        errno.ENXIO: "is a named pipe or a socket, not a file",
        errno.EACCES: "may not be used",
    }
    return CallFailure(f"{place.shown_path} {reasons.get(error.errno or 0, str(error.strerror))}")
