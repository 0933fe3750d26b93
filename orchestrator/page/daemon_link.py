"""Ask the supervisor, as the session that asks the page."""

from typing import Protocol, TypeVar

from pydantic import BaseModel, JsonValue

from orchestrator.control.page_protocol import ACT, PageAct
from thinker.protocol.peer import Params

TIMEOUT = 10.0  # seconds; after it the page says that it does not know
M = TypeVar("M", bound=BaseModel)


class SupervisorCalls(Protocol):
    """A peer, as far as it is needed."""

    async def call(self, method: str, params: Params, result: type[M], *, timeout: float) -> M:  # noqa: ASYNC109 - as in `Peer`
        """Call a method and return its result."""

    async def request(self, method: str, params: Params = None, *, timeout: float) -> JsonValue:  # noqa: ASYNC109 - as in `Peer`
        """Call a method and return its result, whatever it is."""


class SessionLink:
    """The supervisor, for one session. ``once`` is the id of the form that is sent, if one is."""

    def __init__(self, peer: SupervisorCalls, digest: str, once: str = "") -> None:
        self._peer = peer
        self._digest = digest
        self._once = once

    async def ask(self, method: str, params: BaseModel | None, answer: type[M]) -> M:
        return await self._peer.call(ACT, self._act(method, params), answer, timeout=TIMEOUT)

    async def order(self, method: str, params: BaseModel | None) -> None:
        """Call a method whose answer does not matter; errors as of `ask`."""
        await self._peer.request(ACT, self._act(method, params), timeout=TIMEOUT)

    def _act(self, method: str, params: BaseModel | None) -> PageAct:
        values = None if params is None else params.model_dump(mode="json", by_alias=True)
        return PageAct(digest=self._digest, method=method, params=values, once=self._once)
