"""Route every connection of a jailed process to its proxy.

The kernel can limit the ports that a process connects to, but not the addresses. So ``connect`` is
handed to the process that watches. It connects to the proxy itself and puts that connection in the
place of the caller's socket, so changing the caller's memory meanwhile has no effect.
"""

import array
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Sequence

from orchestrator.jail_broker.caller import JailedCaller

ADD_DESCRIPTOR = 0x40182103  # SECCOMP_IOCTL_NOTIF_ADDFD
IN_PLACE = 1  # SECCOMP_ADDFD_FLAG_SETFD
ADDITION = struct.Struct("=QIIII")  # id, flags, srcfd, newfd, newfd_flags
ADDRESS = struct.Struct("!H4s")  # port and address of a sockaddr_in, after the family
SIZE = 16  # bytes of a sockaddr_in
LOCALHOST = socket.inet_aton("127.0.0.1")
TIMEOUT = 5.0  # seconds to reach the proxy, on loopback


def connect_to_proxy(
    listener: int, number: int, caller: JailedCaller, arguments: Sequence[int], proxy: int
) -> None:
    """Connect a caller's socket, if it asked for the proxy.

    Raises:
        OSError: the caller asked for another address, or the proxy does not answer.
    """
    descriptor = arguments[0] & 0xFFFFFFFF
    if _read_address(caller, arguments[1], arguments[2] & 0xFFFFFFFF) != (proxy, LOCALHOST):
        raise PermissionError(errno.EACCES, "not the proxy")
    flags = caller.read_flags(descriptor)
    with socket.create_connection(("127.0.0.1", proxy), TIMEOUT) as made:
        made.setblocking(not flags & os.O_NONBLOCK)
        addition = ADDITION.pack(number, IN_PLACE, made.fileno(), descriptor, flags & os.O_CLOEXEC)
        fcntl.ioctl(listener, ADD_DESCRIPTOR, addition)


def _read_address(caller: JailedCaller, address: int, size: int) -> tuple[int, bytes]:
    data = caller.read_memory(address, SIZE) if size >= SIZE else b""
    if len(data) < SIZE or array.array("H", data[:2])[0] != socket.AF_INET:
        raise PermissionError(errno.EACCES, "not an address of IPv4")
    port, host = ADDRESS.unpack_from(data, 2)
    return port, host
