"""Two peers joined in this process: the wire without the processes."""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from thinker.protocol.peer import NotificationHandler, Peer, RequestHandler, connect_peer


@asynccontextmanager
async def memory_pair(
    left: Mapping[str, RequestHandler],
    right: Mapping[str, RequestHandler],
    right_notifications: Mapping[str, NotificationHandler] | None = None,
) -> AsyncIterator[tuple[Peer, Peer]]:
    """Peers over a socketpair; closing either is end-of-file for the other."""
    one, two = socket.socketpair()
    async with connect_peer(one, left) as a, connect_peer(two, right, right_notifications) as b:
        yield a, b
