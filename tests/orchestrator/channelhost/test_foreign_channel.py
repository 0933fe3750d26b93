"""What foreign systems bring: a message that no one can read stops none that follow."""

from structlog.testing import capture_logs

from orchestrator.channelhost.channel_wire import ReceivedMessage
from orchestrator.channelhost.foreign_channel import try_read_message


def received(text: str) -> ReceivedMessage | None:
    """A message of Ann; none if there is nothing, and an error if it is no text."""
    text.encode()
    found = ReceivedMessage(chat_id="1", message_id="1", sender_id="ann", text=text)
    return found if text else None


def test_message_that_cannot_be_read_is_logged_and_left_out() -> None:
    """All others are handed on; what is no message is left out without a word."""
    with capture_logs() as logs:
        found = [try_read_message(received, text) for text in ("hello", "\ud800", "", "again")]
    assert [message and message.text for message in found] == ["hello", None, None, "again"]
    assert [line["event"] for line in logs] == ["message_unreadable"]
