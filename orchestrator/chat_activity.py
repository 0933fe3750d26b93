"""Live events of chats, for watchers: an answer grows, a tool runs.

None of it is stored. Messages are in the journal, so a watcher that comes late, or returns after a
restart, misses none. A chat without watchers costs its turns one dictionary lookup.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import structlog
from pydantic import JsonValue

from orchestrator.loop_bound import LoopBound


class AnswerGrew(NamedTuple):
    """The whole text so far of the model's current response."""

    turn_id: str
    text: str


class CallStarted(NamedTuple):
    """A tool call that begins; it may wait for a server or an approval."""

    turn_id: str
    seq: int
    agent_id: str
    tool: str
    arguments: Mapping[str, JsonValue]


class CallFinished(NamedTuple):
    """A call that has its result.

    ``seconds`` is how long it ran since it was last begun, ``problem`` why it failed, if it did.
    """

    call: CallStarted
    seconds: float
    problem: str | None


ActivityEvent = AnswerGrew | CallStarted | CallFinished
See = Callable[[ActivityEvent], None]
log = structlog.get_logger()


class ChatActivity(LoopBound):
    """The watchers of each chat, keyed by the chat's key in the journal."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[See]] = {}

    def is_watched(self, chat_key: str) -> bool:
        return chat_key in self._watchers

    def tell_watchers(self, chat_key: str, event: ActivityEvent) -> None:
        """Pass an event to all watchers of the chat, which must not wait."""
        for see in tuple(self._watchers.get(chat_key, ())):
            try:
                see(event)
            except Exception:  # a fault in a watcher must not end the turn that it watches
                log.exception("watcher_broke", chat=chat_key)

    @contextmanager
    def watch_chat(self, chat_key: str, see: See) -> Iterator[None]:
        """Call ``see`` for every event in a chat while the block runs."""
        watchers = self._watchers.setdefault(chat_key, [])
        watchers.append(see)
        try:
            yield
        finally:
            watchers.remove(see)
            if not watchers:
                del self._watchers[chat_key]
