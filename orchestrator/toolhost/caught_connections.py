"""Lead every connection of a server to its proxy, whatever address it asks for.

Landlock knows ports, not addresses. So the kernel hands each ``connect`` of the server to its
guardian (seccomp's user notification), which puts a socket that is connected to the proxy in the
place of the server's. No address of the server's is ever used.
"""

import array
import ctypes
import errno
import fcntl
import os
import re
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path

from thinker.jail import kernel, seccomp

NEW_LISTENER = 8  # SECCOMP_FILTER_FLAG_NEW_LISTENER, linux/seccomp.h
USER_NOTIFY = 0x7FC00000
RECEIVE, SEND, ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
NOTICE = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif
ANSWER = struct.Struct("=QqiI")
ADDITION = struct.Struct("=QIIII")
SET_NUMBER = 1
PROGRAM = struct.Struct("@HxxxxxxP")  # struct sock_fprog
FLAGS = re.compile(r"^flags:\s*([0-7]+)$", re.MULTILINE)
TIMEOUT = 5.0  # seconds to reach the proxy, on loopback


class CaughtConnections:
    """Made before the server is forked: it calls `catch`, and its guardian `answer`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ours, self._theirs = socket.socketpair()

    def catch(self) -> None:
        """Hand this process's connections to the guardian.

        Raises:
            OSError: the kernel cannot.
        """
        (number,) = seccomp.numbers(["connect"])
        code = (
            (seccomp.LOAD, 0, 0, seccomp.AT_NUMBER),
            (seccomp.EQUAL, 0, 1, number),
            (seccomp.RETURN, 0, 0, USER_NOTIFY),
            (seccomp.RETURN, 0, 0, seccomp.ALLOW),
        )
        steps = b"".join(seccomp.INSTRUCTION.pack(*step) for step in code)
        buffer = ctypes.create_string_buffer(steps, len(steps))
        header = PROGRAM.pack(len(code), ctypes.addressof(buffer))
        argument = ctypes.create_string_buffer(header, len(header))
        listener = kernel.syscall(
            kernel.SECCOMP, seccomp.SET_MODE_FILTER, NEW_LISTENER, ctypes.addressof(argument)
        )
        rights = array.array("i", [listener])
        self._theirs.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        os.close(listener)

    def answer(self) -> None:
        """Answer the server's connections until its processes have ended, in a thread."""
        self._theirs.close()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with self._ours as channel:
            sent = channel.recvmsg(1, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)[1]
        if not sent:  # the server could not be jailed
            return
        listener = array.array("i", sent[0][2])[0]
        while True:
            notice = bytearray(NOTICE.size)
            try:
                fcntl.ioctl(listener, RECEIVE, notice)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):  # it was killed
                    continue
                return
            number, pid, _, _, _, _, descriptor, *_ = NOTICE.unpack(notice)
            problem = 0
            try:
                _replace(listener, number, pid, descriptor & 0xFFFFFFFF, self._port)
            except OSError as error:
                problem = -(error.errno or errno.ECONNREFUSED)
            with suppress(OSError):  # the caller was killed
                fcntl.ioctl(listener, SEND, ANSWER.pack(number, 0, problem, 0))


def _replace(listener: int, number: int, pid: int, descriptor: int, port: int) -> None:
    """Put a socket that is connected to the proxy in the place of a descriptor of a process."""
    text = Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text("ascii")
    found = FLAGS.search(text)
    flags = int(found[1], 8) if found else 0
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connected:
        connected.setblocking(not flags & os.O_NONBLOCK)
        addition = ADDITION.pack(
            number, SET_NUMBER, connected.fileno(), descriptor, flags & os.O_CLOEXEC
        )
        fcntl.ioctl(listener, ADD_DESCRIPTOR, addition)
