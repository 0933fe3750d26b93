"""Lead every connection of a command to the proxy of its workspace.

The kernel can limit the ports that a process connects to, but not the addresses. So the filter
hands ``connect`` to the process that watches the command. It makes a connection to the proxy itself
and puts that in the place of the command's socket, whatever the command's memory says meanwhile.
"""

import array
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

ADD_DESCRIPTOR = 0x40182103  # SECCOMP_IOCTL_NOTIF_ADDFD
IN_PLACE = 1  # SECCOMP_ADDFD_FLAG_SETFD
ADDITION = struct.Struct("=QIIII")  # id, flags, srcfd, newfd, newfd_flags
ADDRESS = struct.Struct("!H4s")  # port and address of a sockaddr_in, after the family
SIZE = 16  # bytes of a sockaddr_in
LOCALHOST = socket.inet_aton("127.0.0.1")


def lead(listener: int, number: int, pid: int, arguments: Sequence[int], proxy: int) -> None:
    """Connect a socket of a command, if it asked for the proxy.

    Raises:
        OSError: it asked for something else, or the proxy does not answer.
    """
    descriptor = arguments[0] & 0xFFFFFFFF
    if _asked(pid, arguments[1], arguments[2] & 0xFFFFFFFF) != (proxy, LOCALHOST):
        raise PermissionError(errno.EACCES, "not the proxy")
    flags = _flags(pid, descriptor)
    with socket.create_connection(("127.0.0.1", proxy), 5) as made:
        made.setblocking(not flags & os.O_NONBLOCK)
        addition = ADDITION.pack(number, IN_PLACE, made.fileno(), descriptor, flags & os.O_CLOEXEC)
        fcntl.ioctl(listener, ADD_DESCRIPTOR, addition)


def _asked(pid: int, address: int, size: int) -> tuple[int, bytes]:
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(memory, SIZE, address) if size >= SIZE else b""
    finally:
        os.close(memory)
    if len(data) < SIZE or array.array("H", data[:2])[0] != socket.AF_INET:
        raise PermissionError(errno.EACCES, "not an address of IPv4")
    port, host = ADDRESS.unpack_from(data, 2)
    return port, host


def _flags(pid: int, descriptor: int) -> int:
    """Return the flags of a descriptor of the command, which must be a socket."""
    if not os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith("socket:"):  # noqa: PTH115 - no path
        raise OSError(errno.ENOTSOCK, "not a socket")
    for line in Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text("ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "flags":
            return int(value, 8)
    return 0
