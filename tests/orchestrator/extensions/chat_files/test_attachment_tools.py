"""Files of a chat: listed, read, sent, and never those of another chat."""

from base64 import b64encode
from dataclasses import replace

import pytest
from fakes.journal import job, next_turn, planned, receive, update
from fakes.memory import HOME
from fakes.tool_call import run
from pydantic import JsonValue

from orchestrator.channel_api import Attachment
from orchestrator.document_text import UnreadableError
from orchestrator.extensions.chat_files import attachment_tools
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, steps, stored_files
from orchestrator.journal.turns.outbox import Address
from orchestrator.tools.builtin import send_message
from orchestrator.tools.builtin.host_tool import ToolContext, ToolFailure
from thinker.protocol.messages import FileContent, ToolResult

LONG = "word " * 10_000


async def read(context: ToolContext, **arguments: JsonValue) -> str:
    """What reading a file answers."""
    return await attachment_tools.read_attachment.run(context, arguments)


async def locked(data: bytes, media_type: str) -> str:
    """No document can be read."""
    raise UnreadableError(f"{len(data)} bytes of {media_type} are encrypted")


def attached(db: Database, name: str, data: bytes) -> str:
    """A handle of a file that came with a message of the turn."""
    handle = stored_files.build_handle(stored_files.store_file(db, data, "", 1))
    number = 50 + int(db.execute("SELECT count(*) FROM inbox").get)
    came = replace(update(number), attachments=(Attachment("h", name, name, data),))
    (row,) = receive(db, came)
    db.execute("UPDATE inbox SET turn_id = 't1', state = 'claimed' WHERE id = ?", (row,))
    return handle


def made(db: Database, name: str, data: bytes) -> str:
    """A handle of a file that a tool of the turn made, as its result names it."""
    (call,) = planned(db, "t1", "plot")
    file = FileContent(name=name, media_type="", data=b64encode(data).decode())
    result = ToolResult(call_id=call.call_id, name="plot", content="done", files=(file,))
    steps.mark_intent(db, "t1", call.seq, 1, 2)
    told = steps.finish(db, call, result, 3).content
    handle = stored_files.build_handle(stored_files.store_file(db, data, "", 1))
    assert told == f"done\n[{handle}: {name}, text/csv, {len(data)} bytes]"
    return handle


async def test_files_of_the_chat_are_listed_with_what_they_are(
    db: Database, context: ToolContext
) -> None:
    """What people attached and what tools made, and those of no other chat or agent."""
    assert run(attachment_tools.list_files, db, context) == "This chat has no files."
    with job(db):
        notes, table = attached(db, "notes.txt", b"tea"), made(db, "sums.csv", b"1,2")
    listed = run(attachment_tools.list_files, db, context)
    assert f"{notes}: notes.txt, text/plain, 3 bytes" in listed
    assert f"{table}: sums.csv, text/csv, 3 bytes" in listed
    other = replace(context, memory=HOME._replace(chat="telegram:8"))
    assert run(attachment_tools.list_files, db, other) == "This chat has no files."
    with pytest.raises(ToolFailure, match="this chat has no file"):
        await read(other, file=notes)


async def test_text_is_read_piece_by_piece(db: Database, context: ToolContext) -> None:
    """Each piece says where to go on; the last one does not."""
    with job(db):
        handle = attached(db, "long.txt", LONG.encode())
    first = await read(context, file=f"[{handle}: long.txt, ...]")
    assert first.endswith("[30000 characters more; go on with offset 20000]")
    last = await read(context, file=handle, offset=40_000)
    assert last == LONG[40_000:]
    with pytest.raises(ToolFailure, match="offset must be a number from 0 to 50000"):
        await read(context, file=handle, offset=50_001)


async def test_what_cannot_be_read_is_said_to_be(db: Database, context: ToolContext) -> None:
    """Other formats, files that retention removed, and handles of nothing."""
    with job(db):
        handle, old = attached(db, "a.pdf", b"%PDF\0"), attached(db, "old.txt", b"x")
        db.execute("DELETE FROM media WHERE data = ?", (b"x",))
    with pytest.raises(ToolFailure, match=r"a\.pdf: 5 bytes of application/pdf are encrypted"):
        await read(replace(context, document_text=locked), file=handle)
    with pytest.raises(ToolFailure, match=r"old\.txt, .* removed because of its age"):
        await read(context, file=old)
    for named in ("", "notes.txt", "file-", "file-123", "file-%%%%%%%%%%%%", "file-" + "0" * 12):
        with pytest.raises(ToolFailure, match="list_files shows what it has"):
            run(attachment_tools.send_file, db, context, file=named)


def test_file_is_queued_with_its_caption(db: Database, context: ToolContext) -> None:
    """Sent once, as a message of its own; it counts with the turn's other messages."""
    with job(db):
        handle = made(db, "sums.csv", b"1,2")
    edits = replace(context, mode=lambda _: "edit")
    answer = run(attachment_tools.send_file, db, edits, file=handle, caption="the sums")
    assert answer == "Queued sums.csv for delivery to chat 7."
    (row,) = outbox.list_due_rows(db, "telegram")
    assert (row.mode, row.body, row.file_name) == ("direct", "the sums", "sums.csv")
    assert outbox.list_texts_of_turn(db, "t1") == ("sums.csv the sums",)
    for _ in range(send_message.MAX_MESSAGES - 1):
        run(attachment_tools.send_file, db, context, file=handle)
    with pytest.raises(ToolFailure, match="nothing was sent"):
        run(attachment_tools.send_file, db, context, file=handle)


def test_file_that_cannot_be_sent_is_refused_with_what_to_do(
    db: Database, context: ToolContext
) -> None:
    """A chat without files, a long caption, a chat that the turn may not write to."""
    with job(db):
        handle = made(db, "sums.csv", b"1,2")
    receive(db, update(2, chat_id="8"))
    next_turn(db, "t2", "8")
    console = replace(context, address=Address("console", "local", "7"))
    confined = replace(context, may_write=lambda *_: False)
    with pytest.raises(ToolFailure, match="a console chat shows no files"):
        run(attachment_tools.send_file, db, console, file=handle)
    with pytest.raises(ToolFailure, match="the caption has 1001 characters; at most 1000"):
        run(attachment_tools.send_file, db, context, file=handle, caption="x" * 1001)
    with pytest.raises(ToolFailure, match="this agent knows no telegram chat '8'"):
        run(attachment_tools.send_file, db, confined, file=handle, chat_id="8")
    assert outbox.list_due_rows(db, "telegram") == []
