"""Tell whether the other side of a unix socket is a descendant of this process.

Workers, hooks and MCP servers run as the operator's user, so that the mode of the control socket
lets them in; what they descend from does not. Orphans count: this process adopts them.
"""

import fcntl
import os
import select
import signal
import socket
import struct
from contextlib import ExitStack, suppress

PEER = struct.Struct("iII")  # struct ucred of unix(7): pid, uid, gid
SO_PEERPIDFD = 77  # asm-generic/socket.h, Linux 6.5
PIDFD_GET_INFO = 0xC040FF0B  # linux/pidfd.h, Linux 6.13: _IOWR(0xFF, 11, 64 bytes)
INFO = struct.Struct("QQIIII32x")  # mask, cgroup, pid, tgid, ppid, uid
INFO_PID = 1  # in the mask: the numbers


def peer_pid(connection: socket.socket) -> int:
    """Return the process that connected; 0 if it is outside of this process's namespace."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    return int(PEER.unpack(credentials)[0])


def from_descendant(connection: socket.socket) -> bool:
    """Return whether a descendant of this process connected, or a process that has ended.

    Of a process that has ended it cannot be known. This process itself is no descendant.
    """
    pid = peer_pid(connection)
    if pid in {0, os.getpid()}:
        return False
    try:
        with ExitStack() as held:
            watch = _peer_pidfd(connection, pid)
            held.callback(os.close, watch)
            return _descends(pid, watch, held)
    except (OSError, ValueError, IndexError):  # it ended
        return True


def _peer_pidfd(connection: socket.socket, pid: int) -> int:
    """Open the process that connected, not a later one with its number where the kernel can."""
    with suppress(OSError):  # before Linux 6.5
        return connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    return os.pidfd_open(pid)


def _descends(pid: int, watch: int, held: ExitStack) -> bool:
    """Walk up to this process or to the end of what this namespace shows.

    A parent is open before it is read from its child for a second time, so that it is the parent
    and not a later process with its number.
    """
    while True:
        parent = _parent(pid, watch)
        if parent == os.getpid():
            return True
        if parent == 0:
            return False
        try:
            above = os.pidfd_open(parent)
        except ProcessLookupError:  # it ended; another process adopts the child
            continue
        held.callback(os.close, above)
        if _parent(pid, watch) == parent:
            pid, watch = parent, above


def _parent(pid: int, watch: int) -> int:
    """Return a living process's parent; 0 if there is none in this namespace.

    Raises:
        OSError: the process has ended.
    """
    try:
        info = bytearray(INFO.pack(INFO_PID, 0, 0, 0, 0, 0))
        fcntl.ioctl(watch, PIDFD_GET_INFO, info)
        parent = int(INFO.unpack(info)[4])
    except OSError:  # before Linux 6.13
        parent = _parent_in_proc(pid, watch)
    end = select.poll()
    end.register(watch, select.POLLIN)
    if end.poll(0):
        raise ProcessLookupError(f"process {pid} has ended")
    return parent


def _parent_in_proc(pid: int, watch: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123 - no path object for one read
            return int(stat.read().rpartition(b")")[2].split()[1])
    except FileNotFoundError:  # it has ended, or /proc hides it (hidepid=)
        with suppress(PermissionError):
            signal.pidfd_send_signal(watch, 0)
            raise
        return 0  # another user's: no descendant can become one
