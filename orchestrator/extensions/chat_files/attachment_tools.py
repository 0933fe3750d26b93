"""Tools for the files of a chat: list them, read the text of one, send one."""

from collections.abc import Iterable
from datetime import UTC, datetime

from orchestrator.document_text import UnreadableError
from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, stored_files
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.stored_files import FoundFile
from orchestrator.tools.builtin import send_message
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    journal_tool,
    mark_quoted_text,
    plain_tool,
    read_number_argument,
    read_text_argument,
)
from thinker.protocol.messages import JsonObject, SideEffect

MAX_LISTED = 30  # files of a list
READ_SECONDS = 150.0  # for a file that has to be heard
MAX_PIECE = 20_000  # characters that one call returns
MAX_CAPTION = 1000  # characters; Telegram's limit is 1024
FILE = "Its handle: file- and twelve digits."
WORDS = (
    "file, files, document, documents, attachment, attachments, attached, pdf, upload, recording,"
    " recordings, audio, voice message"
)


@journal_tool(
    "List the newest files of this chat: what people attached, and what tools made.",
    {},
    side_effect=SideEffect.PURE,
    keywords=f"{WORDS}, send, picture, pictures, photo, image, chart",
    private=True,
)
def list_files(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    del arguments
    found = stored_files.list_files(db, context.memory, MAX_LISTED)
    lines = (f"{datetime.fromtimestamp(f.at / 1000, UTC):%Y-%m-%d %H:%M} {f}" for f in found)
    return _mark_file_text("\n".join(lines) or "This chat has no files.", found)


@plain_tool(
    f"Read the text of a file of this chat, {MAX_PIECE} characters at a time: plain text, PDF,"
    " office files, recordings.",
    {
        "file": FILE,
        "offset": {"type": "integer", "description": "Where to go on; 0 if omitted."},
    },
    ["file"],
    keywords=WORDS,
    private=True,
    seconds=READ_SECONDS,
)
async def read_attachment(context: ToolContext, arguments: JsonObject) -> str:
    found, data = await context.store.read(_read_file, context, arguments)
    if data is None:
        raise ToolFailure(f"{found}; ask for it again")
    try:
        whole = await context.document_text(data, stored_files.detect_media_type(found.name, data))
    except JournalError:
        raise
    except (UnreadableError, OrchestratorError) as error:
        raise ToolFailure(f"{found.name}: {error}") from error
    offset = int(read_number_argument(arguments, "offset", 0, 0, len(whole)))
    piece = whole[offset : offset + MAX_PIECE]
    left = len(whole) - offset - len(piece)
    more = f"\n[{left} characters more; go on with offset {offset + len(piece)}]" if left else ""
    return _mark_file_text((piece or "[no text]") + more, [found])


@journal_tool(
    "Send a file of this chat, such as one that a tool made, at once and before the reply.",
    {
        "file": FILE,
        "caption": "A line below it.",
        "chat_id": "Default: the current chat.",
    },
    ["file"],
    keywords=f"{WORDS}, send, picture, pictures, photo, image, chart",
)
def send_file(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    found, channel = _require_file(db, context, arguments), context.address.channel
    address = send_message.find_write_address(
        db, context, channel, read_text_argument(arguments, "chat_id")
    )
    caption = read_text_argument(arguments, "caption")
    if found.size is None:
        raise ToolFailure(f"{found}; make it again")
    if not context.takes_files(channel):
        raise ToolFailure(f"a {channel} chat shows no files; put what is in it into the reply")
    if len(caption) > MAX_CAPTION:
        raise ToolFailure(f"the caption has {len(caption)} characters; at most {MAX_CAPTION}")
    send_message.require_message_room(db, context, 1)
    rendered = context.split(channel, caption)[0].rendered if caption else None
    part = OutboxPart(
        caption, rendered=rendered, media_id=found.media_id, file_name=found.file_name
    )
    outbox.add_extra(db, context.turn_id, address, [part], context.mode(address), context.now)
    return f"Queued {found.name} for delivery to chat {address.chat_id}."


def _require_file(db: Database, context: ToolContext, arguments: JsonObject) -> FoundFile:
    named = read_text_argument(arguments, "file")
    found = stored_files.find_file(db, context.memory, named)
    if found is None:
        raise ToolFailure(f"this chat has no file {named!r}; list_files shows what it has")
    return found


def _read_file(
    db: Database, context: ToolContext, arguments: JsonObject
) -> tuple[FoundFile, bytes | None]:
    found = _require_file(db, context, arguments)
    return found, stored_files.load_content(db, found.media_id)


def _mark_file_text(shown: str, files: Iterable[FoundFile]) -> str:
    return mark_quoted_text(shown, (file.origin for file in files))
