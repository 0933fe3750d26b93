"""Parse a mail: its fields, text and files, however its sender wrote it. Pure."""

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from typing import NamedTuple, TypeAlias

from html_to_markdown import ConversionOptions, convert

from orchestrator.channelhost.channel_wire import MAX_TEXT
from thinker.formats.text_encoding import decode_bytes

MAX_MAIL = 16 * 1024 * 1024  # bytes; the files of the wire, as base64
MAX_HEAD = 256 * 1024  # bytes
MAX_FIELD = 20_000  # characters
MAX_HTML = 400_000  # characters
MAX_FILES = 20
# More lines and parts than people send, and fewer than would fill memory. Parts inside parts
# cost the parser time for each line.
MAX_LINES, MAX_PARTS, MAX_NESTED = 400_000, 2_000, 40
_NESTED = re.compile(rb"multipart/|message/", re.IGNORECASE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

Mail: TypeAlias = "Message[str, str]"


class MailContent(NamedTuple):
    """The content of a mail; HTML is converted to text."""

    text: str
    files: tuple[Mail, ...] = ()


def is_readable(raw: bytes) -> bool:
    """Return whether a mail is small and simple enough to be parsed quickly."""
    return (
        len(raw) <= MAX_MAIL
        and raw.count(b"\n") <= MAX_LINES
        and raw.count(b"\n--") <= MAX_PARTS
        and sum(1 for _ in _NESTED.finditer(raw)) <= MAX_NESTED
    )


def parse_mail(raw: bytes) -> Mail:
    return message_from_bytes(raw)


def parse_head(raw: bytes) -> Mail:
    """Parse a mail's head only."""
    end = _HEAD_END.search(raw, 0, MAX_HEAD)
    return message_from_bytes(raw[: end.start() if end else MAX_HEAD])


def list_fields(mail: Mail, name: str) -> list[str]:
    """Return the values of a field, topmost first, each on one line."""
    found = (value for key, value in mail.raw_items() if key.lower() == name.lower())
    return [" ".join(_replace_invalid_bytes(str(value)[:MAX_FIELD]).split()) for value in found]


def find_field(mail: Mail, name: str) -> str:
    """Return the first value of a field; empty without one."""
    return next(iter(list_fields(mail, name)), "")


def decode_words(value: str) -> str:
    """Return the text of a field with encoded words, without control characters."""
    try:
        pieces = decode_header(value)
    except (HeaderParseError, ValueError):
        pieces = [(value, None)]
    text = "".join(
        piece if isinstance(piece, str) else decode_text(piece, charset or "utf-8")
        for piece, charset in pieces
    )
    return " ".join(_CONTROLS.sub(" ", text).split())


def _replace_invalid_bytes(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def decode_text(data: bytes, charset: str) -> str:
    """Decode bytes whose sender names an encoding, rightly or not; invalid ones become U+FFFD."""
    return decode_bytes(data, charset) or data.decode("utf-8", "replace")


def extract_content(mail: Mail) -> MailContent:
    """Return the text and the files of a mail, in order."""
    plain: list[Mail] = []
    html: list[Mail] = []
    files: list[Mail] = []
    for part in _walk_parts(mail):
        kind = part.get_content_type()
        attached = part.get_content_disposition() == "attachment" or find_file_name(part)
        if attached or kind not in ("text/plain", "text/html"):
            files.append(part)
        else:
            (plain if kind == "text/plain" else html).append(part)
    text = "\n".join(map(_extract_text, plain))
    if not text.strip():
        text = "\n".join(_convert_html(_extract_text(part, MAX_HTML)) for part in html)
    return MailContent(text[: MAX_TEXT + 1], tuple(files[:MAX_FILES]))


def find_file_name(part: Mail) -> str:
    """Return a part's file name; empty if it is not a file."""
    try:
        return decode_words(part.get_filename() or "")[:200]
    except (LookupError, ValueError):
        return ""


def extract_bytes(part: Mail) -> bytes:
    """Return the bytes of a file; an attached mail is a file, too."""
    inside = part.get_payload() if part.is_multipart() else ""
    if isinstance(inside, list):
        return b"\n".join(piece.as_bytes() for piece in inside if isinstance(piece, Message))
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""


def _walk_parts(mail: Mail) -> Iterator[Mail]:
    """Yield the innermost parts of a mail; attached mails stay whole."""
    waiting = [mail]
    while waiting:
        part = waiting.pop()
        # Innermost parts are not decoded here: their charset may be any word.
        inside = part.get_payload() if part.is_multipart() else ""
        if part.get_content_maintype() == "multipart" and isinstance(inside, list):
            waiting += [piece for piece in reversed(inside) if isinstance(piece, Message)]
        else:
            yield part


def _extract_text(part: Mail, most: int = MAX_TEXT + 1) -> str:
    found = extract_bytes(part)[: 4 * most]  # a character has up to four bytes
    try:
        charset = part.get_content_charset("utf-8")
    except (LookupError, ValueError):
        charset = "utf-8"
    return decode_text(found, charset).replace("\0", "")[:most]


def _convert_html(html: str) -> str:
    options = ConversionOptions(extract_metadata=False, skip_images=True, heading_style="atx")
    try:
        return str(convert(html, options).content or "")
    except Exception:  # noqa: BLE001 - the library may raise anything
        return ""
