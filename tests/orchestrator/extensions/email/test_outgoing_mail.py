"""Mails of the bot: subjects, and the ids that keep a thread together."""

from datetime import UTC, datetime

from orchestrator.channelhost.channel_wire import OutgoingMessage
from orchestrator.extensions.email.email_events import Thread
from orchestrator.extensions.email.outgoing_mail import MAX_SUBJECT, compose_mail

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def mail(text: str, thread: Thread | None = None) -> bytes:
    """A mail to Ann."""
    message = OutgoingMessage(chat_id="ann@a.example", text=text, key="k")
    return compose_mail(message, "bot@x.example", thread, NOW).as_bytes()


def test_long_id_of_a_thread_stays_on_one_line() -> None:
    """In two encoded words, no program would find it again."""
    name = f"{'a' * 90}@a.example"
    lines = mail("hello", Thread("tea", (name,))).split(b"\r\n")
    assert f"In-Reply-To: <{name}>".encode() in lines


def test_first_line_without_a_space_is_a_subject() -> None:
    """Such as an address, or a sentence in Japanese."""
    subject = next(line for line in mail("x" * 100).split(b"\r\n") if line.startswith(b"Subject:"))
    assert b"x" * (MAX_SUBJECT // 2) in subject
