"""Call the supervisor on behalf of a session of the page."""

from typing import Protocol, TypeVar

from pydantic import BaseModel, JsonValue

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.page.daemon_side.page_protocol import ACT, PageAct
from orchestrator.extensions.page.edit_calls import explain_refusal
from thinker.protocol.peer import Params

TIMEOUT = 10.0  # seconds, after which the outcome is unknown
# Seconds for methods that wait for a service elsewhere; a backup goes on after its answer.
LONG_TIMEOUTS = {
    "setup/model": 90.0,
    "setup/bot": 60.0,
    "backup/make": 30.0,
    "files/save": 30.0,  # when tests are tried before
}
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
        act, timeout = self._build_act(method, params), LONG_TIMEOUTS.get(method, TIMEOUT)
        return await self._peer.call(ACT, act, answer, timeout=timeout)

    async def send_form(self, method: str, fields: JsonValue) -> None:
        """Call a method with the fields of a form; raise the same errors as `ask_daemon`.

        Raises:
            OrchestratorError: the method answered that it saved nothing.
        """
        act, timeout = self._build_act(method, fields), LONG_TIMEOUTS.get(method, TIMEOUT)
        refused = explain_refusal(await self._peer.request(ACT, act, timeout=timeout))
        if refused:
            raise OrchestratorError(refused)

    def _build_act(self, method: str, params: BaseModel | JsonValue) -> PageAct:
        if isinstance(params, BaseModel):
            params = params.model_dump(mode="json", by_alias=True)
        return PageAct(digest=self._digest, method=method, params=params, once=self._once)
