"""A socket that never blocks this process, although another process shares it.

Whether a socket blocks belongs to the open file, not to the descriptor, and a worker keeps a
descriptor of the end that it sends. So each call passes a flag not to wait.
"""

import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

NO_WAIT = int(socket.MSG_DONTWAIT)  # an int: as an enum it would cost more than the rest of a call


class SharedSocket(socket.socket):
    """A socket that never waits, in the calls that asyncio uses for a stream."""

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        return super().recv(size, flags | NO_WAIT)

    def send(self, data: "Buffer", flags: int = 0, /) -> int:
        return super().send(data, flags | NO_WAIT)

    def sendmsg(self, buffers: "Iterable[Buffer]", /) -> int:  # type: ignore[override]  # all of it that asyncio uses
        return super().sendmsg(buffers, (), NO_WAIT)
