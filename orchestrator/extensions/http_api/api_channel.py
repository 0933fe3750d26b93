"""The channel ``api``: pass answers to the requests that wait for them.

A reply is stored in the journal first, and counts as delivered if its client is waiting. Otherwise
the client gets it by repeating the request with the same Idempotency-Key.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus

import anyio

from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.channels.stored_replies import POLL, JournalChannel
from orchestrator.extensions.http_api import new_requests
from orchestrator.extensions.http_api.new_requests import CHANNEL, Progress
from orchestrator.extensions.http_api.stored_requests import Outcome
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import pauses
from orchestrator.wakeup import Wakeup
from orchestrator.web.error_response import ApiProblem

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

    def is_delivered_when_stored(self, chat_id: str) -> bool:
        return chat_id in self._listeners

    async def send(self, part: OutboundPart) -> str:
        if part.chat_id not in self._listeners:
            raise SendError(GONE, SendOutcome.PERMANENT)
        self.wake_waiting_clients(part.chat_id)
        return "journal"

    def wake_waiting_clients(self, chat_id: str) -> None:
        for listener in self._listeners.get(chat_id, ()):
            listener.wake()

    def show_unfinished_answer(self, chat_id: str, text: str) -> None:
        for listener in self._listeners.get(chat_id, ()):
            listener.text = text
            listener.wake()

    # --- the server's side -----------------------------------------------------------------

    @contextmanager
    def register_listener(self, request_id: str) -> Iterator[Listener]:
        """Register a client for a request, which may be stored later."""
        listener = Listener()
        self._listeners.setdefault(request_id, set()).add(listener)
        try:
            yield listener
        finally:
            self._listeners[request_id].discard(listener)
            if not self._listeners[request_id]:
                del self._listeners[request_id]

    async def follow_request(
        self, request_id: str, agent_id: str, listener: Listener
    ) -> AsyncIterator[str | Outcome]:
        """Yield the answer so far at every change and every second, then the outcome.

        A client that has left gets no outcome.

        Raises:
            ApiProblem: there can be no answer now.
        """
        give_up = anyio.current_time() + ANSWER_TIMEOUT
        while not listener.left:
            changed = listener.changed
            progress, pause = await self._store.read(_load_progress, request_id, agent_id)
            if listener.left:
                return
            if progress.outcome is not None:
                yield progress.outcome
                return
            self._require_progress(progress, pause)
            if anyio.current_time() > give_up:
                message = f"no answer yet; the request is kept: {RETRY_HINT}"
                raise ApiProblem(HTTPStatus.GATEWAY_TIMEOUT, message, code="timeout")
            yield listener.text
            with anyio.move_on_after(POLL):
                await changed.wait()

    @property
    def is_closing(self) -> bool:
        """Whether clients must get their responses now, because the daemon stops."""
        return self._closing

    def interrupt_clients(self, *, closing: bool) -> None:
        """Wake all clients; with ``closing``, their requests end with status 503."""
        self._closing = closing
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.wake()

    def _require_progress(self, progress: Progress, pause: str | None) -> None:
        if progress.state not in ("new", "claimed"):
            reason = progress.error or "the request was cancelled"
            raise ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, reason, code="cancelled")
        if pause is not None:
            message = f"the agent is paused: {pause}; the request is kept: {RETRY_HINT}"
            raise ApiProblem(HTTPStatus.TOO_MANY_REQUESTS, message, code="agent_paused")
        if self._closing:
            message = f"the daemon is stopping; the request is kept: {RETRY_HINT}"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, code="stopping")


def _load_progress(db: Database, request_id: str, agent_id: str) -> tuple[Progress, str | None]:
    """Return a request's progress, and the reason of the pause that holds it."""
    progress = new_requests.load_progress(db, request_id)
    if progress.state == "new" or progress.wait == "budget":
        pause = pauses.find_pause(db, agent_id)
        return progress, None if pause is None else pause.reason
    return progress, None
