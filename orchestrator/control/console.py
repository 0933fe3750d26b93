"""The console channel: `orchestrator chat` and `orchestrator send`, over the control socket.

It is a channel like any other: messages go through the inbox, replies through the outbox. A reply
is in the journal before anybody reads it, so a client that lost its connection asks again with
the same message id and gets the same answer.
"""

from collections import defaultdict
from collections.abc import Callable

import anyio

from orchestrator.channel_api import InboundMessage, Intake
from orchestrator.channels.stored_replies import JournalChannel
from orchestrator.control.protocol import ChatOutcome, ChatSend, ChatView
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import inbox

MAX_TEXT = 1_000_000  # characters of one message
TIMEOUT = 600.0  # seconds that one wait may ask for
View = Callable[[ChatView], None]


class Console(JournalChannel):
    """The `Adapter` of the operator's own terminal."""

    name = "console"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._views: dict[str, set[View]] = defaultdict(set)

    async def run(self, intake: Intake) -> None:
        """Nothing to listen to: the control socket calls `say`."""
        del intake
        await anyio.sleep_forever()

    def view(self, chat_id: str, text: str) -> None:
        """Show the answer so far to whoever waits in the chat."""
        for show in self._views.get(chat_id, ()):
            show(ChatView(chat=chat_id, text=text))

    # --- the control socket's side ---------------------------------------------------------

    async def say(self, intake: Intake, said: ChatSend) -> None:
        """Hand in what the operator typed."""
        too_long = len(said.text) > MAX_TEXT
        skip = "too long" if too_long else "no text" if not said.text.strip() else None
        message = InboundMessage(
            channel=self.name,
            bot_id=self.bot_id,
            chat_id=said.chat,
            message_id=said.message,
            sender_id="operator",
            text="" if skip else said.text,
            target=said.agent,
            skip=skip,
        )
        await intake.accept([message])
        self._wake(said.chat)

    async def outcome(self, message_id: str, seconds: float, view: View | None) -> ChatOutcome:
        """What became of a message, waited for at most ``seconds``; ``view`` sees it grow."""
        row = self._store.read(inbox.by_message, self.name, message_id)
        if row is None:
            return ChatOutcome(state="unknown", error="no such message; send it first")
        if view is not None:
            self._views[row.chat_id].add(view)
        try:
            ended = await self._ended(message_id, row.chat_id, min(seconds, TIMEOUT))
        finally:
            if view is not None:
                self._views[row.chat_id].discard(view)
            if not self._views[row.chat_id]:
                del self._views[row.chat_id]
        if ended is None:
            return ChatOutcome(state="pending")
        return ChatOutcome(state=ended.row.state, texts=ended.texts, error=ended.row.error)
