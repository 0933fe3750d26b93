"""Landlock: a process gives up files, TCP ports and signals for itself and all that it starts.

Only what is granted stays open; what was open before stays open. See landlock(7).
"""

import ctypes
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Grants:
    """What stays open: paths with all below them, TCP ports, and signals beyond the jail.

    ``read``: files and listings; ``run``: also execution; ``write``: reading, writing, creating and
    removing, but no execution; ``all``: everything. A path that does not exist is left out.
    ``connect`` are the ports that connections may be made to, ``bind`` those that may be served;
    None leaves TCP as it is. ``scoped``: neither signals nor abstract sockets reach beyond.
    """

    read: Sequence[str | os.PathLike[str]] = ()
    run: Sequence[str | os.PathLike[str]] = ()
    write: Sequence[str | os.PathLike[str]] = ()
    all: Sequence[str | os.PathLike[str]] = ()
    connect: Iterable[int] | None = ()
    bind: Iterable[int] | None = ()
    scoped: bool = True

    def paths(self) -> list[tuple[str | os.PathLike[str], int]]:
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


def abi() -> int:
    """Return the version that the kernel offers; 0 without Landlock."""
    try:
        return syscall(kernel.LANDLOCK_CREATE, 0, 0, VERSION_FLAG)
    except OSError:
        return 0


def restrict(grants: Grants) -> tuple[str, ...]:
    """Give up all but the grants, for this thread and what it starts; return what is lacking.

    An empty result is the whole jail, ``("landlock",)`` none. What an older kernel cannot close
    stays open and is named: ``tcp`` before version 4, ``scope`` before 6.
    """
    version = abi()
    if version == 0:
        return ("landlock",)
    try:
        _restrict(grants, version)
    except OSError:
        return ("landlock",)
    missing = []
    if version < ABI_NETWORK and (grants.connect is not None or grants.bind is not None):
        missing.append("tcp")
    if version < ABI_SCOPE and grants.scoped:
        missing.append("scope")
    return tuple(missing)


def _restrict(grants: Grants, version: int) -> None:
    files = handled_files(version)
    net = 0
    if version >= ABI_NETWORK:
        net |= BIND_TCP if grants.bind is not None else 0
        net |= CONNECT_TCP if grants.connect is not None else 0
    scoped = ABSTRACT_SOCKETS | SIGNALS if grants.scoped and version >= ABI_SCOPE else 0
    ruleset = _Ruleset(files, net, scoped)
    size = 8 if version < ABI_NETWORK else 16 if version < ABI_SCOPE else ctypes.sizeof(ruleset)
    fd = syscall(kernel.LANDLOCK_CREATE, ctypes.addressof(ruleset), size, 0)
    try:
        for path, rights in grants.paths():
            _grant_path(fd, path, rights & files)
        if net & CONNECT_TCP:
            _grant_ports(fd, grants.connect, CONNECT_TCP)
        if net & BIND_TCP:
            _grant_ports(fd, grants.bind, BIND_TCP)
        prctl(hardening.PR_SET_NO_NEW_PRIVS, 1)  # or it would need a capability
        syscall(kernel.LANDLOCK_RESTRICT, fd, 0)
    finally:
        os.close(fd)


def handled_files(version: int) -> int:
    """Return the rights to files that a version of Landlock knows."""
    files = ALL_FILES
    for since, right in ((ABI_REFER, REFER), (ABI_TRUNCATE, TRUNCATE), (ABI_IOCTL, IOCTL_DEV)):
        if version < since:
            files &= ~right
    return files


def _grant_path(ruleset: int, path: str | os.PathLike[str], rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= ON_FILES
        rule = _PathRule(rights, fd)
        with suppress(OSError):  # a file system without names, such as a pipe's
            syscall(kernel.LANDLOCK_ADD, ruleset, PATH_BENEATH, ctypes.addressof(rule), 0)
    finally:
        os.close(fd)


def _grant_ports(ruleset: int, ports: Iterable[int] | None, right: int) -> None:
    for port in ports or ():
        rule = _PortRule(right, port)
        syscall(kernel.LANDLOCK_ADD, ruleset, NET_PORT, ctypes.addressof(rule), 0)
