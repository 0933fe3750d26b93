"""Change modes, owners, times and extended attributes for a jailed process, where it may write.

Landlock does not look at these, so a jailed process could make any file of the user unreadable or
executable. Instead of the caller, the process that watches opens the file, looks where that is, and
changes it by the handle: whatever happens to the path meanwhile, nothing else is changed.

Where: may a jailed process change modes and times of files?
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from orchestrator.jail_broker.caller import AT_FDCWD, JailedCaller, convert_to_signed
from thinker.jail import kernel, seccomp

PERMISSIONS = 0o777  # no bits that give another user's rights
NO_FOLLOW, EMPTY_PATH = 0x100, 0x1000  # AT_ flags, linux/fcntl.h
MAX_VALUE = 65536  # bytes of an extended attribute
MICROSECONDS = 1_000_000
Change: TypeAlias = Callable[[str], object]  # of files below a path


def _read_mode(_: JailedCaller, values: Sequence[int]) -> Change:
    return partial(os.chmod, mode=values[0] & PERMISSIONS)


def _read_owner(_: JailedCaller, values: Sequence[int]) -> Change:
    return partial(os.chown, uid=convert_to_signed(values[0]), gid=convert_to_signed(values[1]))


def _read_attribute(caller: JailedCaller, values: Sequence[int]) -> Change:
    name, size = caller.read_text(values[0]), values[2]
    if size > MAX_VALUE:
        raise OSError(errno.E2BIG, "a long value")
    value = caller.read_whole(values[1], size)
    return partial(os.setxattr, attribute=name, value=value, flags=convert_to_signed(values[3]))


def _read_removal(caller: JailedCaller, values: Sequence[int]) -> Change:
    return partial(os.removexattr, attribute=caller.read_text(values[0]))


def _read_times(caller: JailedCaller, values: Sequence[int], unit: int = 1) -> Change:
    """Read the times of access and change, with fractions in ``unit`` ns; 0 means without."""
    if not values[0]:
        return partial(_set_times, times=None)
    if unit == 0:
        access, change = struct.unpack("=2q", caller.read_whole(values[0], 16))
        return partial(_set_times, times=struct.pack("=4q", access, 0, change, 0))
    access, first, change, second = struct.unpack("=4q", caller.read_whole(values[0], 32))
    if unit > 1 and not (0 <= first < MICROSECONDS and 0 <= second < MICROSECONDS):
        raise OSError(errno.EINVAL, "no time")
    return partial(
        _set_times, times=struct.pack("=4q", access, first * unit, change, second * unit)
    )


def _set_times(path: str, times: bytes | None) -> None:
    """Set times; unlike with ``os.utime``, each may be the current or the old one."""
    name = ctypes.create_string_buffer(os.fsencode(path))
    new = ctypes.create_string_buffer(times or b"")
    (number,) = seccomp.list_call_numbers(["utimensat"])
    place = 0 if times is None else ctypes.addressof(new)
    kernel.syscall(number, AT_FDCWD, ctypes.addressof(name), place, 0)


class _Call(NamedTuple):
    """The positions of a call's arguments; -1 if it has no such argument."""

    read: Callable[[JailedCaller, Sequence[int]], Change]
    values: int
    at: int = -1
    path: int = -1
    flags: int = -1
    follow: bool = True


_CALLS = {
    "chmod": _Call(_read_mode, 1, path=0),
    "fchmod": _Call(_read_mode, 1, at=0),
    "fchmodat": _Call(_read_mode, 2, at=0, path=1),
    "fchmodat2": _Call(_read_mode, 2, at=0, path=1, flags=3),
    "chown": _Call(_read_owner, 1, path=0),
    "lchown": _Call(_read_owner, 1, path=0, follow=False),
    "fchown": _Call(_read_owner, 1, at=0),
    "fchownat": _Call(_read_owner, 2, at=0, path=1, flags=4),
    "utime": _Call(partial(_read_times, unit=0), 1, path=0),
    "utimes": _Call(partial(_read_times, unit=1000), 1, path=0),
    "futimesat": _Call(partial(_read_times, unit=1000), 2, at=0, path=1),
    "utimensat": _Call(_read_times, 2, at=0, path=1, flags=3),
    "setxattr": _Call(_read_attribute, 1, path=0),
    "lsetxattr": _Call(_read_attribute, 1, path=0, follow=False),
    "fsetxattr": _Call(_read_attribute, 1, at=0),
    "removexattr": _Call(_read_removal, 1, path=0),
    "lremovexattr": _Call(_read_removal, 1, path=0, follow=False),
    "fremovexattr": _Call(_read_removal, 1, at=0),
}
CHANGES = frozenset(_CALLS)
_BY_NUMBER = {
    number: call for name, call in _CALLS.items() for number in seccomp.list_call_numbers([name])
}


class FileChanges:
    """Changes files in ``folders`` for a jailed process.

    With ``ownership`` also their owners and extended attributes.
    """

    def __init__(self, folders: Collection[str], *, ownership: bool) -> None:
        self._folders = frozenset(folders)
        self._ownership = ownership

    def apply_change(
        self,
        caller: JailedCaller,
        number: int,
        arguments: Sequence[int],
        waits: Callable[[], object],
    ) -> None:
        """Carry out a call; ``waits`` raises `OSError` unless the caller still waits.

        Raises:
            OSError: the change is refused or impossible.
        """
        call = _BY_NUMBER[number]
        values = arguments[call.values :]
        if not self._ownership and call.read is _read_owner:
            _require_same_owner(values)
            return
        if not self._ownership and call.read in (_read_attribute, _read_removal):
            raise OSError(errno.EOPNOTSUPP, "which programs that copy files expect")
        handle = _open_target(caller, call, arguments)
        try:
            change = call.read(caller, values)
            waits()  # its memory and folders were its own
            self._require_inside(handle)
            change(f"/proc/self/fd/{handle}")
        finally:
            os.close(handle)

    def _require_inside(self, handle: int) -> None:
        """Refuse devices, and files outside of the folders by the kernel's own path."""
        kind = os.fstat(handle).st_mode
        path = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - where it is
        while path not in self._folders and path not in ("", "/"):
            path = path.rpartition("/")[0] or "/"
        if path not in self._folders or stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
            raise PermissionError(errno.EPERM, "not a file that it may change")


def _open_target(caller: JailedCaller, call: _Call, arguments: Sequence[int]) -> int:
    at = AT_FDCWD if call.at < 0 else convert_to_signed(arguments[call.at])
    if call.path < 0 or (not arguments[call.path] and at != AT_FDCWD):  # as futimens does
        return caller.open_path(at, None)
    flags = 0 if call.flags < 0 else arguments[call.flags] & 0xFFFFFFFF
    if flags & ~(NO_FOLLOW | EMPTY_PATH):
        raise OSError(errno.EINVAL, "unknown flags")
    path = caller.read_text(arguments[call.path])
    if not path and flags & EMPTY_PATH:
        return caller.open_path(at, None)
    return caller.open_path(at, path, follow=call.follow and not flags & NO_FOLLOW)


def _require_same_owner(values: Sequence[int]) -> None:
    """Require that an owner stays the same; programs that unpack archives make such calls."""
    user, group = map(convert_to_signed, values[:2])
    if user not in (-1, os.getuid()) or group not in (-1, os.getgid()):
        raise PermissionError(errno.EPERM, "another owner")
