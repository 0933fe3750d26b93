"""A socket that someone else makes block."""

import fcntl
import socket
from collections.abc import Callable

import anyio
import pytest
from fakes.time_limit import time_limit

from orchestrator.broker.shared_socket import SharedSocket

FILLED = b"x" * 1_000_000


@pytest.mark.parametrize(
    "call",
    [
        lambda sock: sock.recv(1),
        lambda sock: [sock.send(FILLED) for _ in range(10)],
        lambda sock: [sock.sendmsg([FILLED]) for _ in range(10)],
    ],
)
async def test_socket_does_not_wait_whatever_its_other_holder_sets(
    call: Callable[[SharedSocket], object],
) -> None:
    """Neither for data nor for room."""
    ours, theirs = socket.socketpair()
    with ours, SharedSocket(fileno=theirs.detach()) as shared, time_limit():
        shared.settimeout(0)
        fcntl.fcntl(shared, fcntl.F_SETFL, 0)
        with pytest.raises(BlockingIOError):
            await anyio.to_thread.run_sync(call, shared, abandon_on_cancel=True)
