"""The channel ``api``: hands answers to the requests that wait for them.

A reply is in the journal before anybody reads it, and has thereby arrived if its client waits. One
whose client has gone away counts as not delivered. Whoever asks again with the same Idempotency-Key
gets it, also where the answer was lost on its way.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus

import anyio
import apsw

from orchestrator.channel_api import Intake, OutboundPart, SendError, SendOutcome
from orchestrator.channels.stored_replies import POLL, JournalChannel
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import api_requests, pauses
from orchestrator.journal.turns.api_requests import CHANNEL, Outcome, Progress
from orchestrator.wakeup import Wakeup

GONE = "the program went away before its answer came; with its Idempotency-Key it can ask again"
AGAIN = "ask again with the same Idempotency-Key to get the answer"
PATIENCE = 3600.0  # seconds that one request waits for its answer


class Listener(Wakeup):
    """One client that waits; ``text`` is the answer so far (whole)."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""


class ApiChannel(JournalChannel):
    """The `Adapter`; the chats of this channel are its requests."""

    name = CHANNEL

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._listeners: dict[str, set[Listener]] = {}
        self._closing = False

    async def run(self, intake: Intake) -> None:
        """Nothing to listen to: the server runs by itself, until every answer is out."""
        del intake
        await anyio.sleep_forever()

    def delivered_when_stored(self, chat_id: str) -> bool:
        """Whether somebody waits for it."""
        return chat_id in self._listeners

    async def send(self, part: OutboundPart) -> str:
        """Wake whoever waits for the answer.

        Raises:
            SendError: nobody does.
        """
        if part.chat_id not in self._listeners:
            raise SendError(GONE, SendOutcome.PERMANENT)
        self.replied(part.chat_id)
        return "journal"

    def replied(self, chat_id: str) -> None:
        """Wake whoever waits for the answer."""
        for listener in self._listeners.get(chat_id, ()):
            listener.wake()

    def view(self, chat_id: str, text: str) -> None:
        """Show the answer so far."""
        for listener in self._listeners.get(chat_id, ()):
            listener.text = text
            listener.wake()

    # --- the server's side -----------------------------------------------------------------

    @contextmanager
    def listening(self, request_id: str) -> Iterator[Listener]:
        """A client waits for this request, which need not be stored yet."""
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
        """The answer so far, at every change and every second, and then what it came to.

        Raises:
            Problem: there will be no answer here and now.
        """
        give_up = anyio.current_time() + PATIENCE
        while True:
            changed = listener.changed
            progress, pause = self._store.read(_look, request_id, agent_id)
            if progress.outcome is not None:
                yield progress.outcome
                return
            self._check(progress, pause, anyio.current_time() > give_up)
            yield listener.text
            with anyio.move_on_after(POLL):
                await changed.wait()

    def interrupt(self, *, closing: bool) -> None:
        """Let everybody go who waits: the daemon stops, or the token is another one."""
        self._closing = closing
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.wake()

    def _check(self, progress: Progress, pause: str | None, late: bool) -> None:  # noqa: FBT001 - private, and named at its only call
        if progress.state not in ("new", "claimed"):
            reason = progress.error or "it was cancelled"
            raise ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, reason, code="cancelled")
        if pause is not None:
            told = f"the agent is paused: {pause}; the request is kept, {AGAIN}"
            raise ApiProblem(HTTPStatus.TOO_MANY_REQUESTS, told, code="agent_paused")
        if self._closing:
            told = f"the daemon stops; the request is kept, {AGAIN}"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, told, code="stopping")
        if late:
            raise ApiProblem(HTTPStatus.GATEWAY_TIMEOUT, f"no answer yet; {AGAIN}", code="timeout")


def _look(db: apsw.Connection, request_id: str, agent_id: str) -> tuple[Progress, str | None]:
    """How far a request is, and the pause of its agent because of which it waits."""
    progress = api_requests.progress(db, request_id)
    if progress.state == "new" or progress.wait == "budget":
        pause = pauses.find(db, agent_id)
        return progress, None if pause is None else pause.reason
    return progress, None
