"""Translate mails into received messages. Pure.

Each sender's address is a chat, each thread a conversation of it. A mail to the bot alone is
private; one that others get too is a message in a group, which mentions the bot in ``To``.
"""

import hashlib
import re
from dataclasses import dataclass
from email.utils import getaddresses
from typing import NamedTuple
from urllib.parse import quote, unquote

from orchestrator.channelhost.channel_wire import ReceivedFile, ReceivedMessage
from orchestrator.channelhost.email.mail_content import (
    MAX_MAIL,
    Mail,
    content,
    decoded,
    field,
    fields,
    file_name,
    is_readable,
    parsed,
    parsed_head,
)
from orchestrator.channelhost.email.own_words import own_words
from orchestrator.channelhost.email.sender_check import unverified

TOO_LARGE = (
    f"I cannot read your mail: it is too large or has too many parts. I take {MAX_MAIL >> 20} MB."
)
MAX_ID = 300  # characters of a Message-ID, also once they are escaped
MAX_NAME = 200
MAX_ADDRESS = 320  # characters: RFC 5321 allows 64 before the @ and 255 behind it
MAX_REFERENCES = 20
ADDRESS = re.compile(
    r"[a-z0-9.!#$%&'*+=?^_`{|}~-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.IGNORECASE
)
OWN_ID = re.compile(r"orchestrator\.[0-9a-f]{32}@")
# One name, in quotes or of characters without a meaning, and one address: what else may stand in
# From, servers read differently.
_SENDER = re.compile(
    r'(?:(?P<name>"(?:[^"\\]|\\.)*"|[^"<>@,;:\\]*)\s*<(?P<inside>[^<>\s]+)>|(?P<bare>[^<>\s]+))'
)
_ID = re.compile(r'<([^<>\s"\\\x00-\x1f\x7f-\U0010ffff]{1,300})>')
_ANSWER = re.compile(r"(?:(?:re|aw|sv|vs|antw|odp|r|ref)\s*(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
_ROBOT = re.compile(
    r"(?:no-?reply|do-?not-?reply|mailer-daemon|postmaster|bounces?)(?:[+.=-].*)?@.*"
)
_BULK = ("bulk", "list", "junk")
_KINDS = ("image", "audio", "video")


@dataclass(frozen=True)
class Recipient:
    """The bot's address, in small letters, and the server whose word on senders counts."""

    address: str
    verified_by: str

    def is_named(self, address: str) -> bool:
        """Return whether an address is the bot's, also with a tag: ``bot+tag@example.org``."""
        local, _, domain = address.lower().rpartition("@")
        return self.address in (address.lower(), f"{local.partition('+')[0]}@{domain}")


class Thread(NamedTuple):
    """What an answer needs to know of the mails before it: a subject, and ids with the last one."""

    subject: str
    references: tuple[str, ...]


def received(
    raw: bytes, handle: str, bot: Recipient, *, whole: bool = True
) -> ReceivedMessage | None:
    """Return the message in a mail; None for one of the bot's own.

    Args:
        raw: the mail, or only its head.
        handle: the mail's name, to which that of a file is added.
        bot: to whom it was sent.
        whole: whether ``raw`` is the whole mail.
    """
    readable = whole and is_readable(raw)
    mail = parsed(raw) if readable else parsed_head(raw)
    name, sender = sender_of(mail)
    if bot.is_named(sender):
        return None
    told = ReceivedMessage(
        chat_id=sender,
        message_id=message_id(mail) or f"{hashlib.sha256(raw).hexdigest()}@unnamed",
        sender_id=sender,
        sender_name=name[:MAX_NAME],
        from_bot=is_automatic(mail, sender),
    )
    doubt = _doubt(mail, sender, bot)
    if doubt and not told.from_bot:  # no one knows who wrote it, so no chat gets an answer
        return told.model_copy(update={"chat_id": "", "sender_id": "", "skip": doubt})
    told = told.model_copy(update=_circumstances(mail, told, bot))
    if not readable:
        return told.model_copy(update={"skip": "too large", "notice": TOO_LARGE})
    return told.model_copy(update=_said(mail, handle))


def sender_of(mail: Mail) -> tuple[str, str]:
    """Return name and address of the sender; both are empty where more than one may be meant."""
    said = fields(mail, "From")
    found = _SENDER.fullmatch(said[0]) if len(said) == 1 else None
    address = (found["inside"] or found["bare"]).lower() if found else ""
    if found is None or len(address) > MAX_ADDRESS or not ADDRESS.fullmatch(address):
        return "", ""
    name = (found["name"] or "").strip()
    if name.startswith('"'):
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return decoded(name) or address, address


def is_automatic(mail: Mail, sender: str) -> bool:
    """Return whether a program sent a mail: one that answered it might never stop."""
    submitted = field(mail, "Auto-Submitted").partition(";")[0].strip().lower()
    return (
        submitted not in ("", "no")
        or field(mail, "Precedence").lower() in _BULK
        or any(fields(mail, name) for name in ("List-Id", "List-Unsubscribe", "X-Autoreply"))
        or "<>" in fields(mail, "Return-Path")
        or _ROBOT.fullmatch(sender) is not None
    )


def _doubt(mail: Mail, sender: str, bot: Recipient) -> str | None:
    if not sender:
        return "the mail names no sender, or more than one"
    results = fields(mail, "Authentication-Results")
    doubt = unverified(results, bot.verified_by, sender.rpartition("@")[2])
    return doubt and f"{doubt}: {sender}"


def _circumstances(mail: Mail, told: ReceivedMessage, bot: Recipient) -> dict[str, object]:
    to = _addresses(mail, "To")
    others = {*to, *_addresses(mail, "Cc")} - {told.sender_id}
    others = {address for address in others if not bot.is_named(address)}
    addressed = any(map(bot.is_named, to))
    answered = _ids(mail, "In-Reply-To")
    root = (*references(mail), told.message_id)[0]
    return {
        "private": addressed and not others,
        "mentioned": addressed,
        "replied_to_bot": any(map(OWN_ID.match, answered)),
        "thread_id": thread_name(root),
    }


def _said(mail: Mail, handle: str) -> dict[str, object]:
    text, files = content(mail)
    before = references(mail)
    text = own_words(text, answer=bool(before))
    begun_by_bot = len(before) == 1 and OWN_ID.match(before[0])
    subject = subject_of(mail)
    if begun_by_bot and not text.startswith("/"):
        text = content(mail).text.strip()  # the conversation has no other copy of what it answers
    if not before and subject and not text.startswith("/"):
        text = f"{subject}\n\n{text}".strip()
    return {
        "text": text,
        "attachments": tuple(
            _file(part, f"{handle}:{number}") for number, part in enumerate(files)
        ),
    }


def _file(part: Mail, handle: str) -> ReceivedFile:
    media_type = part.get_content_type()
    main = media_type.partition("/")[0]
    kind = main if main in _KINDS else "mail" if main == "message" else "file"
    name = file_name(part) or ("message.eml" if kind == "mail" else "")
    details = ", ".join(filter(None, (name, media_type[:80])))
    return ReceivedFile(handle=handle, about=f"{kind}: {details}", name=name)


def subject_of(mail: Mail) -> str:
    """Return the subject without "Re:"."""
    return _ANSWER.sub("", decoded(field(mail, "Subject")), count=1)[:MAX_NAME]


def message_id(mail: Mail) -> str:
    """Return the id that a mail has; empty if it has none that can be used."""
    return next(iter(_ids(mail, "Message-ID")), "")


def references(mail: Mail) -> tuple[str, ...]:
    """Return the ids of the mails that a mail follows, the first of the thread first."""
    found = _ids(mail, "References") or _ids(mail, "In-Reply-To")[:1]
    return (*found[:1], *found[1:][-MAX_REFERENCES:])


def thread_of(mail: Mail, own_id: str) -> Thread:
    """Return what an answer to a mail needs."""
    return Thread(subject_of(mail), (*references(mail), own_id))


def thread_name(root: str) -> str:
    """Return the name of a thread by its first mail; names of chats have a meaning for ``/``."""
    return quote(root, safe="@+=!$&*")


def thread_root(name: str) -> str:
    """Return the id of a thread's first mail."""
    return unquote(name)


def _ids(mail: Mail, name: str) -> list[str]:
    found = (_ID.findall(value) for value in fields(mail, name)[:1])
    return [one for ids in found for one in ids if len(thread_name(one)) <= MAX_ID]


def _addresses(mail: Mail, name: str) -> set[str]:
    return {address.lower() for _, address in getaddresses(fields(mail, name)) if address}
