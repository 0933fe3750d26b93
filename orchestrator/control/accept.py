"""Accepting connections on a socket of our own."""

import socket
from collections.abc import Callable, Coroutine

import anyio
import structlog

RETRY = 1.0  # seconds; no descriptor was left, perhaps, and one may come free
log = structlog.get_logger()


async def accept(
    listener: socket.socket, serve: Callable[[socket.socket], Coroutine[None, None, None]]
) -> None:
    """Run ``serve`` for each connection until cancelled; ``listener`` must not block.

    Not with `asyncio`'s own accept, which loses a connection that comes while it is cancelled.
    """
    async with anyio.create_task_group() as tasks:
        while True:
            await anyio.wait_readable(listener)
            try:
                connection, _ = listener.accept()
            except OSError as error:
                log.warning("accept_failed", problem=str(error))
                await anyio.sleep(RETRY)
                continue
            connection.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
            tasks.start_soon(serve, connection)
