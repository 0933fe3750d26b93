"""The channel of the page's own chats; messages and replies take the usual path."""

from orchestrator.channel_api import Attachment, InboundMessage, Intake
from orchestrator.channels.stored_replies import JournalChannel
from orchestrator.extensions.page.daemon_side.page_protocol import WebFile, WebSend
from orchestrator.extensions.page.reads.web_sessions import WebSession
from orchestrator.journal.turns.outbox import Address


class WebChannel(JournalChannel):
    """The `Adapter` of the page; the name of a chat begins with that of its user."""

    name = "web"
    can_show_files = True

    def build_address(self, chat: str) -> Address:
        return Address(self.name, self.bot_id, chat)

    async def accept_message(self, intake: Intake, session: WebSession, sent: WebSend) -> None:
        """Store a message of a logged-in person.

        Raises:
            JournalError: the message was not stored.
        """
        text = sent.text.replace("\r\n", "\n").strip()
        message = InboundMessage(
            channel=self.name,
            bot_id=self.bot_id,
            chat_id=sent.chat,
            message_id=sent.once,
            sender_id=session.user,
            sender_name=session.user,
            text=text,
            target=sent.agent or None,
            attachments=tuple(map(_build_attachment, sent.files)),
            operator=session.role == "operator",
            while_busy=sent.while_busy or None,
        )
        await intake.accept([message])
        self.wake_waiting_clients(sent.chat)


def _build_attachment(file: WebFile) -> Attachment:
    return Attachment(handle="", about=file.name, name=file.name, data=file.data)


def can_write_chat(session: WebSession, chat: str) -> bool:
    """Return whether a session may write to a chat: operators to all, others to their own."""
    return session.role == "operator" or chat.startswith(f"{session.user}/")
