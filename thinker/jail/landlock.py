"""Landlock: give up files, TCP ports and signals for a process and all that it starts.

Only granted paths and ports stay accessible, and descriptors that are already open. See
landlock(7).
"""

import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from thinker.jail import hardening, kernel
from thinker.jail.kernel import prctl, syscall

VERSION_FLAG = 1  # LANDLOCK_CREATE_RULESET_VERSION
PATH_BENEATH, NET_PORT = 1, 2  # kinds of rules
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
ALL_FILES = (1 << 16) - 1
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # the others need a folder
READ = READ_FILE | READ_DIR
RUN = READ | EXECUTE
WRITE = ALL_FILES & ~EXECUTE
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2
ABI_REFER, ABI_TRUNCATE, ABI_NETWORK, ABI_IOCTL, ABI_SCOPE = 2, 3, 4, 5, 6
AnyPath: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class Grants:
    """The rights to keep: paths with everything below them, TCP ports, and signals.

    ``read``: files and listings; ``run``: also execution; ``write``: reading, writing, creating and
    removing, but no execution; ``all``: everything. A path that does not exist is left out.
    ``connect`` are the ports of allowed connections, ``bind`` the ports that may be served; None
    leaves TCP as it is. ``scoped``: signals and abstract sockets do not reach beyond the jail.
    """

    read: Sequence[AnyPath] = ()
    run: Sequence[AnyPath] = ()
    write: Sequence[AnyPath] = ()
    all: Sequence[AnyPath] = ()
    connect: Iterable[int] | None = ()
    bind: Iterable[int] | None = ()
    scoped: bool = True

    def list_path_rights(self) -> list[tuple[AnyPath, int]]:
        """Return each path with its rights."""
        groups = ((self.read, READ), (self.run, RUN), (self.write, WRITE), (self.all, ALL_FILES))
        return [(path, rights) for paths, rights in groups for path in paths]


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def read_abi_version() -> int:
    """Return the version of Landlock that the kernel offers; 0 without Landlock."""
    try:
        return syscall(kernel.LANDLOCK_CREATE, 0, 0, VERSION_FLAG)
    except OSError:
        return 0


class Ruleset:
    """The rights that this process will keep after `enforce_ruleset`."""

    def __init__(self, grants: Grants) -> None:
        """Create the ruleset; `grant_path` may add more paths.

        Raises:
            OSError: the kernel has no Landlock.
        """
        version = read_abi_version()
        if version == 0:
            raise OSError(errno.EOPNOTSUPP, "Landlock")
        self.version = version
        self._files = compute_file_rights(version)
        network = version >= ABI_NETWORK
        net = BIND_TCP if network and grants.bind is not None else 0
        net |= CONNECT_TCP if network and grants.connect is not None else 0
        scoped = ABSTRACT_SOCKETS | SIGNALS if grants.scoped and version >= ABI_SCOPE else 0
        attributes = _Ruleset(self._files, net, scoped)
        size = 24 if version >= ABI_SCOPE else 16 if network else 8
        self._fd = syscall(kernel.LANDLOCK_CREATE, ctypes.addressof(attributes), size, 0)
        for path, rights in grants.list_path_rights():
            self.grant_path(path, rights)
        if network:
            self._grant_ports(grants.connect or (), CONNECT_TCP)
            self._grant_ports(grants.bind or (), BIND_TCP)

    def grant_path(self, path: AnyPath, rights: int) -> None:
        """Grant rights to a path and all below it, if it exists."""
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (OSError, ValueError):  # ValueError: a NUL character
            return
        try:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                rights &= ON_FILES
            rule = _PathRule(rights & self._files, fd)
            with suppress(OSError):  # a file system without names, such as a pipe's
                syscall(kernel.LANDLOCK_ADD, self._fd, PATH_BENEATH, ctypes.addressof(rule), 0)
        finally:
            os.close(fd)

    def _grant_ports(self, ports: Iterable[int], right: int) -> None:
        for port in ports:
            rule = _PortRule(right, port)
            syscall(kernel.LANDLOCK_ADD, self._fd, NET_PORT, ctypes.addressof(rule), 0)

    def enforce_ruleset(self) -> None:
        """Apply the ruleset to this process and all that it starts, and close it.

        Raises:
            OSError: the kernel refuses, or another thread runs, which would stay outside.
        """
        try:
            if count_threads() > 1:
                raise OSError(errno.EBUSY, "another thread would stay outside of the jail")
            prctl(hardening.PR_SET_NO_NEW_PRIVS, 1)  # otherwise it would need a capability
            syscall(kernel.LANDLOCK_RESTRICT, self._fd, 0)
        finally:
            self.discard_ruleset()

    def discard_ruleset(self) -> None:
        """Close the ruleset without applying it."""
        os.close(self._fd)


def count_threads() -> int:
    """Return the number of this process's threads, those of libraries included."""
    with os.scandir("/proc/self/task") as threads:
        return sum(1 for _ in threads)


def restrict_access(grants: Grants) -> tuple[str, ...]:
    """Give up all rights but the grants, for this process and all that it starts.

    Return the names of what an older kernel cannot restrict: ``tcp`` before version 4, ``scope``
    before 6; ``("landlock",)`` if nothing was restricted.
    """
    try:
        ruleset = Ruleset(grants)
        ruleset.enforce_ruleset()
    except OSError:
        return ("landlock",)
    missing = []
    if ruleset.version < ABI_NETWORK and (grants.connect is not None or grants.bind is not None):
        missing.append("tcp")
    if ruleset.version < ABI_SCOPE and grants.scoped:
        missing.append("scope")
    return tuple(missing)


def compute_file_rights(version: int) -> int:
    """Return the file rights that a version of Landlock knows."""
    files = ALL_FILES
    for since, right in ((ABI_REFER, REFER), (ABI_TRUNCATE, TRUNCATE), (ABI_IOCTL, IOCTL_DEV)):
        if version < since:
            files &= ~right
    return files
