"""What happens in chats right now, for those who watch one: an answer grows, a tool runs.

Nothing of it is kept. What was written to a chat is in the journal, so that a watcher who comes
late, or comes back after a restart, misses no message. A chat that no one watches costs its turns a
look into a dictionary.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import structlog
from pydantic import JsonValue

from orchestrator.loop_owned import LoopOwned


class AnswerGrew(NamedTuple):
    """The whole text so far of the model's present response."""

    turn_id: str
    text: str


class CallMade(NamedTuple):
    """A tool call that begins; it may wait for a server or an approval."""

    turn_id: str
    seq: int
    agent_id: str
    tool: str
    arguments: Mapping[str, JsonValue]


class CallFinished(NamedTuple):
    """A call has its result.

    ``seconds`` is how long it ran since it was last begun, ``problem`` why it failed, if it did.
    """

    call: CallMade
    seconds: float
    problem: str | None


Happening = AnswerGrew | CallMade | CallFinished
See = Callable[[Happening], None]
log = structlog.get_logger()


class ChatActivity(LoopOwned):
    """Who watches which chat; chats are named by their key in the journal."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[See]] = {}

    def watched(self, chat_key: str) -> bool:
        return chat_key in self._watchers

    def tell(self, chat_key: str, happening: Happening) -> None:
        """Tell it to all who watch the chat. They must not wait."""
        for see in tuple(self._watchers.get(chat_key, ())):
            try:
                see(happening)
            except Exception:  # a fault in a watcher must not end the turn that it watches
                log.exception("watcher_broke", chat=chat_key)

    @contextmanager
    def watching(self, chat_key: str, see: See) -> Iterator[None]:
        """Call ``see`` with all that happens in a chat while the block runs."""
        watchers = self._watchers.setdefault(chat_key, [])
        watchers.append(see)
        try:
            yield
        finally:
            watchers.remove(see)
            if not watchers:
                del self._watchers[chat_key]
