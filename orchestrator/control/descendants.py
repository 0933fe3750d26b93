"""Detect whether a unix socket's peer descends from this process.

Workers, hooks and MCP servers run as the operator's user, so the control socket's mode does not
keep them out; their ancestry does. Orphans count: this process adopts them.
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


def read_peer_pid(connection: socket.socket) -> int:
    """Return the pid of the connected process; 0 outside of this process's namespace."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    return int(PEER.unpack(credentials)[0])


def is_from_descendant(connection: socket.socket) -> bool:
    """Return whether the peer descends from this process, or has already ended.

    The ancestry of an ended process is unknown. This process is not its own descendant.
    """
    pid = read_peer_pid(connection)
    if pid in {0, os.getpid()}:
        return False
    try:
        with ExitStack() as held:
            watch = _open_peer_pidfd(connection, pid)
            held.callback(os.close, watch)
            return _is_descendant(pid, watch, held)
    except (OSError, ValueError, IndexError):  # it ended
        return True


def _open_peer_pidfd(connection: socket.socket, pid: int) -> int:
    """Open the connected process itself, not a later one with its pid, where the kernel can."""
    with suppress(OSError):  # before Linux 6.5
        return connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    return os.pidfd_open(pid)


def _is_descendant(pid: int, watch: int, held: ExitStack) -> bool:
    """Walk up to this process or to the last ancestor in this namespace.

    A parent is open before it is read from its child for a second time, so that it is the parent
    and not a later process with its number.
    """
    while True:
        parent = _find_parent(pid, watch)
        if parent == os.getpid():
            return True
        if parent == 0:
            return False
        try:
            above = os.pidfd_open(parent)
        except ProcessLookupError:  # it ended; another process adopts the child
            continue
        held.callback(os.close, above)
        if _find_parent(pid, watch) == parent:
            pid, watch = parent, above


def _find_parent(pid: int, watch: int) -> int:
    """Return a living process's parent; 0 if it is outside of this namespace.

    Raises:
        OSError: the process has ended.
    """
    try:
        info = bytearray(INFO.pack(INFO_PID, 0, 0, 0, 0, 0))
        fcntl.ioctl(watch, PIDFD_GET_INFO, info)
        parent = int(INFO.unpack(info)[4])
    except OSError:  # before Linux 6.13
        parent = _read_parent_in_proc(pid, watch)
    end = select.poll()
    end.register(watch, select.POLLIN)
    if end.poll(0):
        raise ProcessLookupError(f"process {pid} has ended")
    return parent


def _read_parent_in_proc(pid: int, watch: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123 - no path object for one read
            return int(stat.read().rpartition(b")")[2].split()[1])
    except FileNotFoundError:  # it has ended, or /proc hides it (hidepid=)
        with suppress(PermissionError):
            signal.pidfd_send_signal(watch, 0)
            raise
        return 0  # another user's: no descendant can become one
