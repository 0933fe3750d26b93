"""Answer calls of a command that no filter can judge: changes of modes, and connections.

Landlock does not look at chmod(2), so a jailed command could make any file of the user unreadable
or executable. A filter hands these calls to the process that watches the command: it opens the file
itself, looks where that is, and changes it if it lies in a folder that the command may write to.
Owners and extended attributes cannot be changed at all. Connections are led to a proxy.
"""

import array
import ctypes
import errno
import fcntl
import os
import socket
import stat
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from orchestrator.hands import led_connections
from thinker.jail import kernel, seccomp
from thinker.jail.kernel import MACHINE, X86_64, syscall

FLAG_NEW_LISTENER = 8  # linux/seccomp.h
USER_NOTIFY = 0x7FC00000
UNSUPPORTED = seccomp.ERRNO | errno.EOPNOTSUPP  # which programs that copy files expect
RECEIVE, SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, _SEND
STILL_WAITING = 0x40082102  # SECCOMP_IOCTL_NOTIF_ID_VALID
NOTICE = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif
ANSWER = struct.Struct("=QqiI")
AT_FDCWD = -100
OWN_DESCRIPTORS = "/proc/self/fd/"
LONGEST = 4096  # bytes of a path
PERMISSIONS = 0o777  # no bits that give another user's rights
# Numbers on x86-64 and arm64; -1 is a call that the machine does not have.
CHMOD, FCHMOD, FCHMODAT, FCHMODAT2 = ((90, -1), (91, 52), (268, 53), (452, 452))
OWNERS = ((92, -1), (93, 55), (94, -1), (260, 54))  # chown, fchown, lchown, fchownat
ATTRIBUTES = (
    *((188, 5), (189, 6), (190, 7)),  # setxattr, lsetxattr, fsetxattr
    *((197, 14), (198, 15), (199, 16)),  # removexattr, lremovexattr, fremovexattr
    *((463, 463), (466, 466), (469, 469)),  # setxattrat, removexattrat, file_setattr
)
CONNECT = (42, 203)
COLUMN = 0 if MACHINE == X86_64 else 1
# Where the user and the group stand among the arguments.
OWNER_ARGUMENTS = {pair[COLUMN]: 2 if pair == OWNERS[-1] else 1 for pair in OWNERS}
UNCHANGED = 0xFFFFFFFF


def hand_over(channel: socket.socket, *, connections: bool) -> bool:
    """Put the filter in force and send its listener; return whether the kernel could."""
    asked = (CHMOD, FCHMOD, FCHMODAT, *OWNERS, *((CONNECT,) if connections else ()))
    code = [
        (seccomp.LOAD, 0, 0, seccomp.AT_NUMBER),
        *_answered(asked, USER_NOTIFY),
        *_answered((FCHMODAT2,), seccomp.MISSING),
        *_answered(ATTRIBUTES, UNSUPPORTED),
        (seccomp.RETURN, 0, 0, seccomp.ALLOW),
    ]
    program = b"".join(seccomp.INSTRUCTION.pack(*step) for step in code)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HxxxxxxP", len(code), ctypes.addressof(buffer))
    argument = ctypes.create_string_buffer(header, len(header))
    try:
        listener = syscall(
            kernel.SECCOMP, seccomp.SET_MODE_FILTER, FLAG_NEW_LISTENER, ctypes.addressof(argument)
        )
    except OSError:
        return False
    rights = array.array("i", [listener])
    channel.sendmsg([b"listener"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    os.close(listener)
    return True


def _answered(pairs: Sequence[tuple[int, int]], answer: int) -> list[tuple[int, int, int, int]]:
    steps = []
    for pair in pairs:
        if pair[COLUMN] >= 0:
            steps += [(seccomp.EQUAL, 0, 1, pair[COLUMN]), (seccomp.RETURN, 0, 0, answer)]
    return steps


class AnsweredCalls:
    """Answers the calls of one command; ``refusal`` is why it could not be started.

    ``folders`` are those that it may change, ``proxy`` is the port that it may connect to.
    """

    def __init__(self, channel: socket.socket, folders: Sequence[str], proxy: int = 0) -> None:
        self.channel = channel
        self._proxy = proxy
        self._folders = [Path(os.path.realpath(folder)) for folder in folders]
        self.listener = -1
        self.refusal = ""

    def receive(self) -> int | None:
        """Take what the command sent: its listener, or in words why it did not start."""
        with suppress(BlockingIOError):
            while True:
                data, sent, _, _ = self.channel.recvmsg(
                    LONGEST, socket.CMSG_SPACE(4), socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
                )
                if sent:
                    self.listener = array.array("i", sent[0][2])[0]
                elif data:
                    self.refusal = data.decode("utf-8", "replace")
                else:
                    break
        return None if self.listener < 0 else self.listener

    def answer(self) -> bool:
        """Answer one call; return False when no process is left that could call."""
        notice = bytearray(NOTICE.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, notice)
        except OSError as error:
            return error.errno in (errno.EINTR, errno.EAGAIN)
        number, pid, _, call, _, _, *arguments = NOTICE.unpack(notice)
        try:
            if call == CONNECT[COLUMN]:
                led_connections.lead(self.listener, number, pid, arguments, self._proxy)
            else:
                self._change(number, pid, call, arguments)
            problem = 0
        except OSError as error:
            problem = -(error.errno or errno.EPERM)
        with suppress(OSError):  # the caller was killed
            fcntl.ioctl(self.listener, SEND, ANSWER.pack(number, 0, problem, 0))
        return True

    def _change(self, number: int, pid: int, call: int, arguments: Sequence[int]) -> None:
        column = COLUMN
        if call in OWNER_ARGUMENTS:
            _keeps_owner(arguments[OWNER_ARGUMENTS[call] :])
            return
        if call == FCHMOD[column]:
            base, path, mode = _signed(arguments[0]), "", arguments[1]
        elif call == FCHMODAT[column]:
            base, path, mode = _signed(arguments[0]), _text(pid, arguments[1]), arguments[2]
        else:
            base, path, mode = AT_FDCWD, _text(pid, arguments[0]), arguments[1]
        below = os.open(
            f"/proc/{pid}/{'cwd' if base == AT_FDCWD else f'fd/{base}'}", os.O_PATH | os.O_CLOEXEC
        )
        try:
            file = below if call == FCHMOD[column] else _open(path, below)
            try:
                # The caller was still waiting when its memory and folders were looked at.
                fcntl.ioctl(self.listener, STILL_WAITING, struct.pack("=Q", number))
                self._change_handle(file, mode)
            finally:
                if file != below:
                    os.close(file)
        finally:
            os.close(below)

    def _change_handle(self, file: int, mode: int) -> None:
        """Change the mode of what a handle leads to, if it lies in a folder of the command."""
        handle = f"/proc/self/fd/{file}"
        kind = stat.S_IFMT(os.fstat(file).st_mode)
        real = Path(os.readlink(handle))  # noqa: PTH115 - where the kernel says that it is
        inside = any(folder == real or folder in real.parents for folder in self._folders)
        if not inside or kind not in (stat.S_IFREG, stat.S_IFDIR):
            raise PermissionError(errno.EPERM, "not a file of the workspace")
        os.chmod(handle, mode & PERMISSIONS)  # noqa: PTH101 - of a handle


def _keeps_owner(arguments: Sequence[int]) -> None:
    """Let a change pass that changes nothing, as programs make that unpack files for root."""
    user, group = (value & UNCHANGED for value in arguments[:2])
    if user not in (UNCHANGED, os.getuid()) or group not in (UNCHANGED, os.getgid()):
        raise PermissionError(errno.EPERM, "another owner")


def _open(path: str, below: int) -> int:
    if not path:
        raise FileNotFoundError(errno.ENOENT, "no path")
    return os.open(path, os.O_PATH | os.O_CLOEXEC, dir_fd=below)


def _text(pid: int, address: int) -> str:
    """Read a path from the memory of a process."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while b"\0" not in data and len(data) < LONGEST:
            room = LONGEST - address % LONGEST  # to the end of the page
            part = os.pread(memory, room, address)
            if not part:
                raise OSError(errno.EFAULT, "no memory there")
            data, address = data + part, address + len(part)
    finally:
        os.close(memory)
    text, ended, _ = data.partition(b"\0")
    if not ended or len(text) >= LONGEST:
        raise OSError(errno.ENAMETOOLONG, "the path is too long")
    path = os.fsdecode(text)
    if path.startswith(OWN_DESCRIPTORS):  # as libraries name a file that they hold open
        return f"/proc/{pid}/fd/{path.removeprefix(OWN_DESCRIPTORS)}"
    return path


def _signed(value: int) -> int:
    return ctypes.c_int32(value & 0xFFFFFFFF).value
