"""Write a mail: plain text and HTML, in the thread that it answers. Pure."""

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from orchestrator.channelhost.channel_wire import OutgoingMessage
from orchestrator.extensions.email.email_events import Thread

MAX_SUBJECT = 70  # characters
LONG_FIELDS = SMTP.clone(max_line_length=998)  # RFC 5322's limit: an id must stay on one line
_MEDIA_TYPE = re.compile(r"([\w.+-]+)/([\w.+-]+)")
_PRE = re.compile(r"(<pre>.*?</pre>)", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def build_own_id(key: str, address: str) -> str:
    """Return the Message-ID for a key, the same each time."""
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    return f"orchestrator.{name}@{address.rpartition('@')[2]}"


def compose_mail(
    message: OutgoingMessage, address: str, thread: Thread | None, now: datetime
) -> EmailMessage:
    """Return a mail from the bot's address; without a ``thread`` it starts one.

    Its fields tell other programs not to answer.
    """
    mail = EmailMessage(policy=SMTP)
    mail["From"] = address
    mail["To"] = message.chat_id
    mail["Subject"] = _build_subject(message, thread)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = f"<{build_own_id(message.key, address)}>"
    answered = message.reply_to or (thread.references[-1] if thread else "")
    if answered:
        before = thread.references if thread else ()
        mail["In-Reply-To"] = f"<{answered}>"
        mail["References"] = _join_ids((*before, answered))
    mail["Auto-Submitted"] = "auto-replied" if answered else "auto-generated"
    mail["X-Auto-Response-Suppress"] = "All"
    mail.set_content(_replace_surrogates(message.text))
    if message.html and message.html != message.text:
        mail.add_alternative(
            _build_html_document(_replace_surrogates(message.html)), subtype="html"
        )
    if message.file is not None:
        found = _MEDIA_TYPE.fullmatch(message.file.media_type)
        main, sub = found.groups() if found else ("application", "octet-stream")
        if main in ("message", "multipart"):
            main, sub = "application", "octet-stream"
        data, name = base64.b64decode(message.file.data), _join_lines(message.file.name)
        mail.add_attachment(data, maintype=main, subtype=sub, filename=name)
    mail.policy = LONG_FIELDS  # for the head; the body was encoded above
    return mail


def _build_subject(message: OutgoingMessage, thread: Thread | None) -> str:
    if thread and thread.subject:
        return f"Re: {_join_lines(thread.subject)}"
    words = _join_lines(message.text.strip().partition("\n")[0])
    if not words and message.file is not None:
        words = _join_lines(message.file.name)
    if len(words) <= MAX_SUBJECT:
        return words
    cut = words[:MAX_SUBJECT]
    return f"{cut.rpartition(' ')[0] or cut} …"


def _join_ids(ids: Sequence[str]) -> str:
    return " ".join(f"<{one}>" for one in dict.fromkeys(ids))


def _build_html_document(html: str) -> str:
    pieces = (
        piece if piece.startswith("<pre>") else piece.replace("\n", "<br>\n")
        for piece in _PRE.split(html)
    )
    return f"<html><body>{''.join(pieces)}</body></html>\n"


def _join_lines(text: str) -> str:
    return " ".join(_CONTROLS.sub(" ", _replace_surrogates(text)).split())[:300]


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
