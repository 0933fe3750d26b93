"""Show the supervisor that a child is ready and, when pinged, that its event loop runs."""

from pydantic import JsonValue

from thinker.protocol import methods
from thinker.protocol.methods import Ready
from thinker.protocol.peer import Peer


async def answer_pings(peer: Peer, ready: Ready) -> None:
    """Announce readiness, then answer pings until the wire closes.

    The event loop that does the work answers, so a blocked loop is silent.
    """
    peer.requests[methods.PING] = _answer_ping
    peer.notify(methods.READY, ready)
    await peer.closed.wait()


async def _answer_ping(params: JsonValue) -> None:
    del params
