"""How a child of the supervisor shows that it is ready, and then that its event loop runs."""

from collections.abc import Callable

import anyio

from thinker.protocol import methods
from thinker.protocol.methods import Heartbeat, Ready
from thinker.protocol.peer import Peer

INTERVAL = 5.0  # seconds between two heartbeats


async def beat(
    peer: Peer,
    ready: Ready,
    seconds: float = INTERVAL,
    open_turns: Callable[[], int] = lambda: 0,
) -> None:
    """Announce readiness, then send heartbeats ``seconds`` apart until the wire ends.

    The event loop that does the work sends them, so a blocked loop falls silent.
    """
    peer.notify(methods.READY, ready)
    while not peer.closed.is_set():
        with anyio.move_on_after(seconds):
            await peer.closed.wait()
        peer.notify(methods.HEARTBEAT, Heartbeat(open_turns=open_turns()))
