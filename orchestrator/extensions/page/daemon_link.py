"""Call the supervisor on behalf of a session of the page."""

from typing import Protocol, TypeVar

from pydantic import BaseModel, JsonValue

from orchestrator.extensions.page.daemon_side.page_protocol import ACT, PageAct
from thinker.protocol.peer import Params

TIMEOUT = 10.0  # seconds, after which the outcome is unknown
M = TypeVar("M", bound=BaseModel)


class SupervisorCalls(Protocol):
    """The part of a peer that the page needs."""

    async def call(self, method: str, params: Params, result: type[M], *, timeout: float) -> M:  # noqa: ASYNC109 - as in `Peer`
        """Call a method and return its result."""

    async def request(self, method: str, params: Params = None, *, timeout: float) -> JsonValue:  # noqa: ASYNC109 - as in `Peer`
        """Call a method and return its result, of any type."""


class SessionLink:
    """The supervisor, for one session; ``once`` is the id of the form being sent, if any."""

    def __init__(self, peer: SupervisorCalls, digest: str, once: str = "") -> None:
        self._peer = peer
        self._digest = digest
        self._once = once

    async def ask_daemon(self, method: str, params: BaseModel | None, answer: type[M]) -> M:
        return await self._peer.call(ACT, self._build_act(method, params), answer, timeout=TIMEOUT)

    async def send_order(self, method: str, params: BaseModel | None) -> None:
        """Call a method and ignore its result; raise the same errors as `ask_daemon`."""
        await self._peer.request(ACT, self._build_act(method, params), timeout=TIMEOUT)

    def _build_act(self, method: str, params: BaseModel | None) -> PageAct:
        values = None if params is None else params.model_dump(mode="json", by_alias=True)
        return PageAct(digest=self._digest, method=method, params=values, once=self._once)
