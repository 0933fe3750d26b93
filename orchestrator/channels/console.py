"""The console channel: `orchestrator chat` and `orchestrator send`, over the control socket.

It is a channel like any other: messages go through the inbox, replies through the outbox. A reply
is in the journal before anybody reads it, so a client that lost its connection asks again with
the same message id and gets the same answer.
"""

from collections import defaultdict
from collections.abc import Callable

import anyio
import apsw

from orchestrator.adapter import (
    ChannelStatus,
    InboundMessage,
    Intake,
    OutboundPart,
    SendError,
    SendOutcome,
)
from orchestrator.control import ChatOutcome, ChatSend, ChatView
from orchestrator.journal import inbox, outbox
from orchestrator.journal.store import Store

BOT_ID = "local"
MAX_TEXT = 1_000_000  # characters of one message
POLL = 1.0  # seconds; a refusal that says nothing to the chat is found without a signal
TIMEOUT = 600.0  # seconds that one wait may ask for
View = Callable[[ChatView], None]


class Console:
    """The `Adapter` of the operator's own terminal."""

    name = "console"
    bot_id = BOT_ID
    edits = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed: dict[str, anyio.Event] = defaultdict(anyio.Event)
        self._views: dict[str, set[View]] = defaultdict(set)
        self.status = ChannelStatus("console", "ok")

    async def run(self, intake: Intake) -> None:
        """Nothing to listen to: the control socket calls `say`."""
        del intake
        await anyio.sleep_forever()

    def split(self, text: str) -> tuple[str, ...]:
        """A terminal takes any length."""
        return (text,) if text.strip() else ()

    async def send(self, part: OutboundPart) -> str:
        """Wake whoever waits in the chat; the reply itself is read from the journal."""
        self._wake(part.chat_id)
        return "journal"

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Like `send`; never called, as the console does not edit."""
        del message_id
        self._wake(part.chat_id)

    async def typing(self, chat_id: str, thread_id: str | None) -> None:
        """A terminal shows no typing."""

    async def download(self, handle: str, limit: int) -> bytes:
        """Nothing is attached here."""
        del limit
        raise SendError(f"console: there is no attachment {handle!r}", SendOutcome.PERMANENT)

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
            bot_id=BOT_ID,
            chat_id=said.chat,
            message_id=said.message,
            sender_id="operator",
            text="" if skip else said.text,
            target=said.agent,
            skip=skip,
        )
        await intake.accept([message])
        self._wake(said.chat)

    async def outcome(self, message_id: str, seconds: float, view: View) -> ChatOutcome:
        """What became of a message, waited for at most ``seconds``; ``view`` sees it grow."""
        row = await self._store.transact(inbox.by_message, self.name, message_id)
        if row is None:
            return ChatOutcome(state="unknown", error="no such message; send it first")
        self._views[row.chat_id].add(view)
        try:
            with anyio.move_on_after(min(seconds, TIMEOUT)):
                while (found := await self._store.transact(_outcome, message_id)) is None:
                    with anyio.move_on_after(POLL):
                        await self._changed[row.chat_id].wait()
                return found
        finally:
            self._views[row.chat_id].discard(view)
            if not self._views[row.chat_id]:
                del self._views[row.chat_id]
        return ChatOutcome(state="pending")

    def _wake(self, chat_id: str) -> None:
        self._changed.pop(chat_id, anyio.Event()).set()


def _outcome(db: apsw.Connection, message_id: str) -> ChatOutcome | None:
    row = inbox.by_message(db, "console", message_id)
    if row is None or row.state in ("new", "claimed"):
        return None
    texts = (
        outbox.notices_to(db, row.chat_key, message_id)
        if row.turn_id is None
        else outbox.texts_of_turn(db, row.turn_id)
    )
    return ChatOutcome(state=row.state, texts=texts, error=row.error)
