"""The console channel: `orchestrator chat` and `orchestrator send`, over the control socket.

Messages go through the inbox and replies through the outbox, as in any other channel. A client
that lost its connection asks again with the same message id and gets the same answer.
"""

from collections import defaultdict
from collections.abc import Callable

from orchestrator.channel_api import InboundMessage, Intake
from orchestrator.channels.stored_replies import JournalChannel
from orchestrator.control.protocol import ChatOutcome, ChatSend, ChatView
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import inbox

MAX_TEXT = 1_000_000  # characters of one message
TIMEOUT = 600.0  # seconds that one request may wait
View = Callable[[ChatView], None]


class Console(JournalChannel):
    """The `Adapter` of the operator's own terminal."""

    name = "console"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._views: dict[str, set[View]] = defaultdict(set)

    def view(self, chat_id: str, text: str) -> None:
        for show in self._views.get(chat_id, ()):
            show(ChatView(chat=chat_id, text=text))

    # --- the control socket's side ---------------------------------------------------------

    async def say(self, intake: Intake, request: ChatSend) -> None:
        too_long = len(request.text) > MAX_TEXT
        skip = "too long" if too_long else "no text" if not request.text.strip() else None
        message = InboundMessage(
            channel=self.name,
            bot_id=self.bot_id,
            chat_id=request.chat,
            message_id=request.message,
            sender_id="operator",
            text="" if skip else request.text,
            target=request.agent,
            skip=skip,
        )
        await intake.accept([message])
        self.replied(request.chat)

    async def outcome(self, message_id: str, seconds: float, view: View | None) -> ChatOutcome:
        """Wait at most ``seconds`` for the end of a message; ``view`` gets the answer so far."""
        row = self._store.read(inbox.by_message, self.name, message_id)
        if row is None:
            return ChatOutcome(state="unknown", error="no such message; send it first")
        if view is not None:
            self._views[row.chat_id].add(view)
        try:
            ended = await self._ended(message_id, min(seconds, TIMEOUT))
        finally:
            if view is not None:
                self._views[row.chat_id].discard(view)
            if not self._views[row.chat_id]:
                del self._views[row.chat_id]
        if ended is None:
            return ChatOutcome(state="pending")
        return ChatOutcome(state=ended.row.state, texts=ended.texts, error=ended.row.error)
