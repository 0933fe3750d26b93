"""The channel ``api``: hands answers to the requests that wait for them.

A reply is stored in the journal first, and counts as delivered if its client waits. A reply whose
client went away counts as undelivered; the client gets it by repeating the request with the same
Idempotency-Key.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus

import anyio

from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.channels.stored_replies import POLL, JournalChannel
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import api_requests, pauses
from orchestrator.journal.turns.api_requests import CHANNEL, Outcome, Progress
from orchestrator.wakeup import Wakeup

GONE = (
    "the client disconnected before its answer was ready; with its Idempotency-Key it can ask again"
)
RETRY_HINT = "repeat it with the same Idempotency-Key to get the answer"
ANSWER_TIMEOUT = 3600.0  # seconds that one request waits for its answer


class Listener(Wakeup):
    """A waiting client, until it has ``left``; ``text`` is the whole answer so far."""

    text = ""
    left = False


class ApiChannel(JournalChannel):
    """The `Adapter` whose chats are the requests of the endpoints."""

    name = CHANNEL

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._listeners: dict[str, set[Listener]] = {}
        self._closing = False

    def delivered_when_stored(self, chat_id: str) -> bool:
        return chat_id in self._listeners

    async def send(self, part: OutboundPart) -> str:
        if part.chat_id not in self._listeners:
            raise SendError(GONE, SendOutcome.PERMANENT)
        self.replied(part.chat_id)
        return "journal"

    def replied(self, chat_id: str) -> None:
        for listener in self._listeners.get(chat_id, ()):
            listener.wake()

    def view(self, chat_id: str, text: str) -> None:
        for listener in self._listeners.get(chat_id, ()):
            listener.text = text
            listener.wake()

    # --- the server's side -----------------------------------------------------------------

    @contextmanager
    def listening(self, request_id: str) -> Iterator[Listener]:
        """Register a client for a request, which may be stored later."""
        listener = Listener()
        self._listeners.setdefault(request_id, set()).add(listener)
        try:
            yield listener
        finally:
            self._listeners[request_id].discard(listener)
            if not self._listeners[request_id]:
                del self._listeners[request_id]

    async def follow(
        self, request_id: str, agent_id: str, listener: Listener
    ) -> AsyncIterator[str | Outcome]:
        """Yield the answer so far, at every change and every second, and at last the outcome.

        A client that has left gets no outcome.

        Raises:
            ApiProblem: the answer cannot be given now.
        """
        give_up = anyio.current_time() + ANSWER_TIMEOUT
        while not listener.left:
            changed = listener.changed
            progress, pause = await self._store.read(_look, request_id, agent_id)
            if listener.left:
                return
            if progress.outcome is not None:
                yield progress.outcome
                return
            self._check(progress, pause)
            if anyio.current_time() > give_up:
                message = f"there is no answer yet; the request is kept: {RETRY_HINT}"
                raise ApiProblem(HTTPStatus.GATEWAY_TIMEOUT, message, code="timeout")
            yield listener.text
            with anyio.move_on_after(POLL):
                await changed.wait()

    @property
    def closing(self) -> bool:
        """Whether clients must have their responses now, as the daemon stops."""
        return self._closing

    def interrupt(self, *, closing: bool) -> None:
        """Wake all clients; with ``closing``, their requests end with status 503."""
        self._closing = closing
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.wake()

    def _check(self, progress: Progress, pause: str | None) -> None:
        if progress.state not in ("new", "claimed"):
            reason = progress.error or "the request was canceled"
            raise ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, reason, code="cancelled")
        if pause is not None:
            message = f"the agent is paused: {pause}; the request is kept: {RETRY_HINT}"
            raise ApiProblem(HTTPStatus.TOO_MANY_REQUESTS, message, code="agent_paused")
        if self._closing:
            message = f"the daemon is stopping; the request is kept: {RETRY_HINT}"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, code="stopping")


def _look(db: Database, request_id: str, agent_id: str) -> tuple[Progress, str | None]:
    """Return a request's progress, and the reason of the pause that holds it."""
    progress = api_requests.progress(db, request_id)
    if progress.state == "new" or progress.wait == "budget":
        pause = pauses.find(db, agent_id)
        return progress, None if pause is None else pause.reason
    return progress, None
