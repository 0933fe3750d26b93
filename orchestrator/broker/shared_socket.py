"""A socket whose other holder may make it block, which would stop the whole process.

Whether a socket blocks belongs to the open file, not to the descriptor, and a worker keeps a
descriptor of the end that it sends. So each call says by itself that it does not wait.
"""

import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

NO_WAIT = int(socket.MSG_DONTWAIT)  # as the enum that it is, it costs more than the rest of a call


class SharedSocket(socket.socket):
    """Never waits, in those calls that asyncio uses for a stream."""

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        return super().recv(size, flags | NO_WAIT)

    def send(self, data: "Buffer", flags: int = 0, /) -> int:
        return super().send(data, flags | NO_WAIT)

    def sendmsg(self, buffers: "Iterable[Buffer]", /) -> int:  # type: ignore[override]  # all of it that asyncio uses
        return super().sendmsg(buffers, (), NO_WAIT)
