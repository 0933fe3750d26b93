"""Answer system calls of jailed processes that a filter cannot judge: file changes, connections.

A filter hands these calls to the process that watches; a process can have one such filter only.
"""

import array
import errno
import fcntl
import os
import select
import socket
import struct
import threading
from collections.abc import Collection
from contextlib import suppress
from functools import partial

from orchestrator.jail_broker import proxied_connections
from orchestrator.jail_broker.caller import MAX_PATH, JailedCaller
from orchestrator.jail_broker.file_changes import CHANGES, FileChanges
from thinker.jail import seccomp

RECEIVE, SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, _SEND
STILL_WAITING = 0x40082102  # SECCOMP_IOCTL_NOTIF_ID_VALID
NOTICE = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif
ANSWER = struct.Struct("=QqiI")
CONNECT = seccomp.list_call_numbers(["connect"])
NEWER = ("setxattrat", "removexattrat", "file_setattr")  # programs can do without them
INTERRUPTED = (errno.EINTR, errno.EAGAIN, errno.ENOENT)  # this process, or the call


def send_listener(channel: socket.socket, *, connections: bool) -> None:
    """Activate the filter, and send its listener to the watching process.

    Raises:
        OSError: the kernel does not support it.
    """
    asked = CHANGES | ({"connect"} if connections else frozenset[str]())
    listener = seccomp.install_listener(asked, missing=NEWER)
    try:
        rights = array.array("i", [listener])
        channel.sendmsg([b"listener"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    finally:
        os.close(listener)


class AnsweredCalls:
    """Answers the calls of a jail that is forked later; ``inside`` is the jail's channel.

    ``refusal`` says why the jailed program could not be started. ``folders`` are the real paths
    that may be changed, ``proxy`` is the port that may be connected to. With ``ownership``, owners
    and extended attributes can be changed.
    """

    def __init__(
        self, folders: Collection[str], proxy: int = 0, *, ownership: bool = False
    ) -> None:
        self.channel, self.inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._proxy = proxy
        self._changes = FileChanges(folders, ownership=ownership)
        self.listener = -1
        self.refusal = ""

    def receive_listener(self) -> int | None:
        """Receive the listener, or the reason why the start failed."""
        with suppress(BlockingIOError):
            while True:
                data, sent, _, _ = self.channel.recvmsg(
                    MAX_PATH, socket.CMSG_SPACE(4), socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
                )
                if sent:
                    self.listener = array.array("i", sent[0][2])[0]
                elif data:
                    self.refusal = data.decode("utf-8", "replace")
                else:
                    break
        return None if self.listener < 0 else self.listener

    def start(self) -> None:
        """Answer all calls in a thread, until no process is left to make one."""
        threading.Thread(target=self._answer_all, daemon=True).start()

    def fork_inside(self) -> None:
        """Go on in a child, whose jail may begin; this process answers its calls and ends with it.

        The child has no other thread, and this process is one that may look into it.
        """
        child = os.fork()
        if child == 0:
            self.channel.close()
            return
        self.inside.close()
        self.start()
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)

    def _answer_all(self) -> None:
        select.select([self.channel], [], [])
        if self.receive_listener() is not None:
            while self.answer_call(None):
                pass

    def answer_call(self, wait: int | None = 0) -> bool:
        """Answer one call, if it comes within ``wait`` ms; return False when no more can come."""
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        ready = poll.poll(wait)
        if not ready or not ready[0][1] & select.POLLIN:
            return not ready
        notice = bytearray(NOTICE.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, notice)
        except OSError as error:
            return error.errno in INTERRUPTED
        number, thread, _, call, _, _, *arguments = NOTICE.unpack(notice)
        problem = 0
        try:
            caller = JailedCaller(thread)
            if call in CONNECT:
                proxied_connections.connect_to_proxy(
                    self.listener, number, caller, arguments, self._proxy
                )
            else:
                self._changes.apply_change(
                    caller, call, arguments, partial(self._require_waiting, number)
                )
        except OSError as error:
            problem = -(error.errno or errno.EPERM)
        except (OverflowError, ValueError):  # invalid arguments
            problem = -errno.EINVAL
        with suppress(OSError):  # the caller was killed
            fcntl.ioctl(self.listener, SEND, ANSWER.pack(number, 0, problem, 0))
        return True

    def _require_waiting(self, number: int) -> None:
        fcntl.ioctl(self.listener, STILL_WAITING, struct.pack("=Q", number))
