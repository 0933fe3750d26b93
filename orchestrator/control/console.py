"""The console channel: `orchestrator chat` and `orchestrator send`, over the control socket.

Messages go through the inbox and replies through the outbox, as in any other channel. A client
that lost its connection asks again with the same message id and gets the same answer.
"""

from dataclasses import replace

from orchestrator.channel_api import InboundMessage, Intake
from orchestrator.channels.stored_replies import EndedMessage, JournalChannel
from orchestrator.control.protocol import ChatOutcome, ChatSend
from orchestrator.journal.turns.outbox import Address

MAX_TEXT = 1_000_000  # characters of one message
TIMEOUT = 600.0  # seconds that one request may wait


class Console(JournalChannel):
    """The `Adapter` of the operator's own terminal."""

    name = "console"

    def build_address(self, chat: str) -> Address:
        return Address(self.name, self.bot_id, chat)

    def build_message(
        self, chat: str, message_id: str = "", *, agent: str | None, text: str = ""
    ) -> InboundMessage:
        """Build a message from the operator."""
        return InboundMessage(
            channel=self.name,
            bot_id=self.bot_id,
            chat_id=chat,
            message_id=message_id,
            sender_id="operator",
            text=text,
            target=agent,
        )

    async def accept_message(self, intake: Intake, request: ChatSend) -> None:
        too_long = len(request.text) > MAX_TEXT
        skip = "too long" if too_long else "no text" if not request.text.strip() else None
        text = "" if skip else request.text
        message = self.build_message(request.chat, request.message, agent=request.agent, text=text)
        await intake.accept([replace(message, skip=skip) if skip else message])
        self.wake_waiting_clients(request.chat)

    async def wait_for_outcome(self, message_id: str, seconds: float) -> ChatOutcome:
        """Wait at most ``seconds`` for the end of a message."""
        ended = await self._wait_for_end(message_id, min(seconds, TIMEOUT))
        if ended is None:
            return ChatOutcome(state="unknown", error="unknown message; send it first")
        if not isinstance(ended, EndedMessage):
            return ChatOutcome(state="pending")
        return ChatOutcome(state=ended.row.state, texts=ended.texts, error=ended.row.error)
