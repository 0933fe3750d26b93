"""Connect to the control socket of a running daemon."""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from orchestrator.errors import NotRunningError
from orchestrator.settings import Settings
from orchestrator.system.home_daemon import describe_absence
from thinker.protocol.peer import NotificationHandler, Peer, connect_peer


@asynccontextmanager
async def open_control_connection(
    settings: Settings, notifications: Mapping[str, NotificationHandler] | None = None
) -> AsyncIterator[Peer]:
    """Connect to the running daemon while the block runs.

    Raises:
        NotRunningError: no daemon runs on this home, or it stands by.
    """
    path = settings.paths.control_socket
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(str(path))
    except OSError as error:
        sock.close()
        raise NotRunningError(describe_absence(settings)) from error
    async with connect_peer(sock, None, notifications) as peer:
        yield peer
