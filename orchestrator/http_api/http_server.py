"""The web server, on a socket that we bound."""

import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import uvicorn

from orchestrator.http_api.api_context import ApiContext
from orchestrator.http_api.app import Api
from orchestrator.http_api.guard import Guard
from orchestrator.http_api.token import TokenFile

MAX_HEAD = 32 * 1024  # bytes of a request's line and headers
MAX_AT_ONCE = 200  # requests
GRACE = 3  # seconds that answers have to get out once everybody was let go


class _Server(uvicorn.Server):
    """Leaves the process's signals to the daemon."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


@asynccontextmanager
async def served(
    listener: socket.socket, parts: ApiContext, token: TokenFile
) -> AsyncIterator[None]:
    """Serve while the block runs; whoever waits must have been let go when it ends."""
    server = _Server(
        uvicorn.Config(
            Guard(Api(parts).app(), token),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=MAX_HEAD,
            limit_concurrency=MAX_AT_ONCE,
            timeout_graceful_shutdown=GRACE,
        )
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listener])
        yield
        server.should_exit = True
