"""Translate mails into received messages. Pure.

Each sender's address is a chat, each thread a conversation in that chat. A mail to only the bot is
private; one that others get too is a message in a group, which mentions the bot in ``To``.
"""

import hashlib
import re
from dataclasses import dataclass
from email.utils import getaddresses
from typing import NamedTuple
from urllib.parse import quote, unquote

from orchestrator.channelhost.channel_wire import ReceivedFile, ReceivedMessage
from orchestrator.extensions.email.mail_content import (
    MAX_MAIL,
    Mail,
    decode_words,
    extract_content,
    find_field,
    find_file_name,
    is_readable,
    list_fields,
    parse_head,
    parse_mail,
)
from orchestrator.extensions.email.quoted_text import split_quoted_text
from orchestrator.extensions.email.sender_check import check_sender_domain
from thinker.protocol.messages import QuotedMessage

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
# One name, quoted or of ordinary characters, and one address: whatever else is allowed in
# From, servers interpret differently.
_SENDER = re.compile(
    r'(?:(?P<name>"(?:[^"\\]|\\.)*"|[^"<>@,;:\\]*)\s*<(?P<inside>[^<>\s]+)>|(?P<bare>[^<>\s]+))'
)
_ID = re.compile(r'<([^<>\s"\\\x00-\x1f\x7f-\U0010ffff]{1,300})>')
_ANSWER = re.compile(r"(?:(?:re|aw|sv|vs|antw|odp|r|ref)\s*(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
_FORWARD = re.compile(r"(?:fwd?|wg|tr|rv|enc)\s*:", re.IGNORECASE)  # begins such a subject
_ROBOT = re.compile(
    r"(?:no-?reply|do-?not-?reply|mailer-daemon|postmaster|bounces?)(?:[+.=-].*)?@.*"
)
_BULK = ("bulk", "list", "junk")
_KINDS = ("image", "audio", "video")


@dataclass(frozen=True)
class Recipient:
    """The bot's address, in lower case, and the server trusted to verify senders."""

    address: str
    verified_by: str

    def is_named(self, address: str) -> bool:
        """Return whether an address is the bot's, possibly with a tag: ``bot+tag@example.org``."""
        local, _, domain = address.lower().rpartition("@")
        return self.address in (address.lower(), f"{local.partition('+')[0]}@{domain}")


class Thread(NamedTuple):
    """The data of earlier mails that an answer needs: subject, and ids up to the last one."""

    subject: str
    references: tuple[str, ...]


def parse_received_mail(
    raw: bytes, handle: str, bot: Recipient, *, whole: bool = True
) -> ReceivedMessage | None:
    """Return the message in a mail; None for the bot's own.

    Args:
        raw: the mail, or only its head.
        handle: the mail's name, to which a file's name is added.
        bot: to whom it was sent.
        whole: whether ``raw`` is the whole mail.
    """
    readable = whole and is_readable(raw)
    mail = parse_mail(raw) if readable else parse_head(raw)
    name, sender = parse_sender(mail)
    if bot.is_named(sender):
        return None
    told = ReceivedMessage(
        chat_id=sender,
        message_id=parse_message_id(mail) or f"{hashlib.sha256(raw).hexdigest()}@unnamed",
        sender_id=sender,
        sender_name=name[:MAX_NAME],
        from_bot=is_automatic(mail, sender),
    )
    doubt = _find_doubt(mail, sender, bot)
    if doubt and not told.from_bot:  # the author is unknown, so no chat gets an answer
        return told.model_copy(update={"chat_id": "", "sender_id": "", "skip": doubt})
    told = told.model_copy(update=_build_chat_fields(mail, told, bot))
    if not readable:
        return told.model_copy(update={"skip": "too large", "notice": TOO_LARGE})
    own = told.private and told.replied_to_bot  # what it quotes is the bot's and the sender's
    return told.model_copy(update=_build_content_fields(mail, handle, own=own))


def parse_sender(mail: Mail) -> tuple[str, str]:
    """Return name and address of the sender; empty if ambiguous."""
    said = list_fields(mail, "From")
    found = _SENDER.fullmatch(said[0]) if len(said) == 1 else None
    address = (found["inside"] or found["bare"]).lower() if found else ""
    if found is None or len(address) > MAX_ADDRESS or not ADDRESS.fullmatch(address):
        return "", ""
    name = (found["name"] or "").strip()
    if name.startswith('"'):
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    return decode_words(name) or address, address


def is_automatic(mail: Mail, sender: str) -> bool:
    """Return whether a program sent a mail; answering one might never stop."""
    submitted = find_field(mail, "Auto-Submitted").partition(";")[0].strip().lower()
    return (
        submitted not in ("", "no")
        or find_field(mail, "Precedence").lower() in _BULK
        or any(list_fields(mail, name) for name in ("List-Id", "List-Unsubscribe", "X-Autoreply"))
        or "<>" in list_fields(mail, "Return-Path")
        or _ROBOT.fullmatch(sender) is not None
    )


def _find_doubt(mail: Mail, sender: str, bot: Recipient) -> str | None:
    if not sender:
        return "the mail names no sender, or more than one"
    results = list_fields(mail, "Authentication-Results")
    doubt = check_sender_domain(results, bot.verified_by, sender.rpartition("@")[2])
    return doubt and f"{doubt}: {sender}"


def _build_chat_fields(mail: Mail, told: ReceivedMessage, bot: Recipient) -> dict[str, object]:
    to = _parse_addresses(mail, "To")
    others = {*to, *_parse_addresses(mail, "Cc")} - {told.sender_id}
    others = {address for address in others if not bot.is_named(address)}
    addressed = any(map(bot.is_named, to))
    answered = _parse_ids(mail, "In-Reply-To")
    root = (*parse_references(mail), told.message_id)[0]
    return {
        "private": addressed and not others,
        "mentioned": addressed,
        "replied_to_bot": any(map(OWN_ID.match, answered)),
        "thread_id": format_thread_name(root),
    }


def _build_content_fields(mail: Mail, handle: str, *, own: bool) -> dict[str, object]:
    """Return text, quote and files; the quoted mail is the bot's if it is its ``own``."""
    whole, files = extract_content(mail)
    before, subject = parse_references(mail), parse_subject(mail)
    passed_on = _FORWARD.match(subject) is not None or bool(find_field(mail, "Resent-From"))
    text, quoted, forwarded = split_quoted_text(whole, answer=bool(before), forwarded=passed_on)
    foreign = bool(find_field(mail, "Resent-From")) or not (text or own)
    begun_by_bot = len(before) == 1 and OWN_ID.match(before[0]) and not text.startswith("/")
    if begun_by_bot or not text:
        # The conversation has no other copy of it, or the sender has nothing to add.
        text, quoted = whole.strip(), ""
    if not before and subject and not text.startswith("/"):
        text = f"{subject}\n\n{text}".strip()
    return {
        "text": text,
        "origin": "other_user" if foreign and whole.strip() else "user",
        "quote": _build_quote(quoted, own=own, forwarded=forwarded),
        "attachments": tuple(
            _build_received_file(part, f"{handle}:{number}") for number, part in enumerate(files)
        ),
    }


def _build_quote(text: str, *, own: bool, forwarded: bool) -> QuotedMessage | None:
    if own and not forwarded:  # the mails before it are in the conversation
        text = "\n".join(line for line in text.split("\n") if not line.startswith(">"))
    by = "agent" if own and not forwarded else "other"
    kind = "forward" if forwarded else "reply"
    quote = {"kind": kind, "by": by, "text": text}
    return QuotedMessage.model_validate(quote) if text.strip() else None


def _build_received_file(part: Mail, handle: str) -> ReceivedFile:
    media_type = part.get_content_type()
    main = media_type.partition("/")[0]
    kind = main if main in _KINDS else "mail" if main == "message" else "file"
    name = find_file_name(part) or ("message.eml" if kind == "mail" else "")
    details = ", ".join(filter(None, (name, media_type[:80])))
    return ReceivedFile(handle=handle, about=f"{kind}: {details}", name=name)


def parse_subject(mail: Mail) -> str:
    """Return the subject without "Re:"."""
    return _ANSWER.sub("", decode_words(find_field(mail, "Subject")), count=1)[:MAX_NAME]


def parse_message_id(mail: Mail) -> str:
    """Return the id of a mail; empty if it has no usable one."""
    return next(iter(_parse_ids(mail, "Message-ID")), "")


def parse_references(mail: Mail) -> tuple[str, ...]:
    """Return the ids of the mails that a mail follows, the thread's first one first."""
    found = _parse_ids(mail, "References") or _parse_ids(mail, "In-Reply-To")[:1]
    return (*found[:1], *found[1:][-MAX_REFERENCES:])


def build_thread(mail: Mail, own_id: str) -> Thread:
    """Return the thread data for an answer to a mail."""
    return Thread(parse_subject(mail), (*parse_references(mail), own_id))


def format_thread_name(root: str) -> str:
    """Return a thread's name, from its first mail, without ``/``, which separates names."""
    return quote(root, safe="@+=!$&*")


def parse_thread_root(name: str) -> str:
    """Return the id of a thread's first mail."""
    return unquote(name)


def _parse_ids(mail: Mail, name: str) -> list[str]:
    found = (_ID.findall(value) for value in list_fields(mail, name)[:1])
    return [one for ids in found for one in ids if len(format_thread_name(one)) <= MAX_ID]


def _parse_addresses(mail: Mail, name: str) -> set[str]:
    return {address.lower() for _, address in getaddresses(list_fields(mail, name)) if address}
