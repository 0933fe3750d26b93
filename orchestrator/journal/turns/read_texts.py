"""The texts that a turn has read, by their authors.

What the chat's own user wrote counts as the user's, also in a subagent's turn, whose task a model
wrote. What a model wrote counts as nobody's, and what a tool returned as the tool's: it may repeat
what it was given.

Where: which texts of a turn are the user's own words?
"""

from collections.abc import Iterator
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, prompt_records, sessions
from orchestrator.journal.turns.inbox import InboxRow
from thinker.protocol.messages import UNTRUSTED, Message, Origin, ToolResult, UserMessage

WINDOW = 50  # messages of history that a turn sees
MAX_DEPTH = 4  # subagents above one
MADE = (inbox.SUBAGENT, inbox.RESULT, inbox.HANDOFF, inbox.HOOK)  # kinds that no person wrote


class ReadText(NamedTuple):
    """A text of others: who wrote it, where it was read, and the ``arguments`` of its call."""

    text: str
    origin: Origin
    name: str
    arguments: str = "{}"


def list_user_texts(db: Database, turn_id: str, depth: int = MAX_DEPTH) -> list[str]:
    """Return what the turn's own user has written, in its messages and in those before them."""
    rows = inbox.list_turn_messages(db, turn_id)
    if any(row.kind == inbox.SUBAGENT for row in rows):
        sql = "SELECT run.turn_id FROM subagent_run AS run JOIN inbox ON inbox.id = inbox_id"
        parent = db.execute(f"{sql} WHERE inbox.turn_id = ?", (turn_id,)).get
        return list_user_texts(db, parent, depth - 1) if parent and depth else []
    first = rows[0].author.sender if rows else ""
    texts = [row.text for row in rows if _is_own_message(row, first)]
    for message in _load_history(db, turn_id):
        if isinstance(message, UserMessage) and message.sender in ("", first):
            texts += [] if message.origin in UNTRUSTED else [message.content]
    return texts


def _is_own_message(row: InboxRow, sender: str) -> bool:
    return row.kind not in MADE and row.origin not in UNTRUSTED and row.author.sender == sender


def _load_history(db: Database, turn_id: str) -> tuple[Message, ...]:
    sql = "SELECT session_id FROM turn WHERE id = ? AND recipe = 'interactive'"
    session_id = db.execute(sql, (turn_id,)).get
    return () if session_id is None else sessions.list_history(db, int(session_id), WINDOW)


def list_operator_texts(db: Database, turn_id: str) -> list[str]:
    """Return the parts of the turn's prompts that are not text of others."""
    prompts = prompt_records.list_prompts_of_turn(db, turn_id)[-1:]
    return [layer.text for _, prompt in prompts for layer in prompt.layers if not layer.quoted]


def iter_read_texts(db: Database, turn_id: str) -> Iterator[ReadText]:
    """Yield the text of others that a turn has read, the newest result first."""
    sql = (
        "SELECT result, args FROM step WHERE turn_id = ? AND kind = 'tool'"
        " AND result IS NOT NULL ORDER BY seq DESC"
    )
    for body, arguments in db.execute(sql, (turn_id,)):
        result = orjson.loads(body)
        if result.get("origin") in UNTRUSTED:
            yield ReadText(result["content"], result["origin"], result["name"], arguments)
    for row in inbox.list_turn_messages(db, turn_id):
        yield from _iter_quoted_texts(row.build_user_message(db))
    for message in reversed(_load_history(db, turn_id)):
        if isinstance(message, UserMessage):
            yield from _iter_quoted_texts(message)
        elif isinstance(message, ToolResult) and message.is_untrusted:
            yield ReadText(message.content, message.origin, message.name)
    for layer in prompt_records.find_context_layers(db, turn_id) or ():
        if layer.quoted:
            yield ReadText(layer.text, "tool", layer.name)


def _iter_quoted_texts(message: UserMessage) -> Iterator[ReadText]:
    if message.origin in UNTRUSTED:
        yield ReadText(message.content, message.origin, message.sender_name)
    if message.quote is not None and message.quote.fence:
        yield ReadText(message.quote.text, "other_user", message.quote.author)
    for document in message.documents:
        if document.fence:
            yield ReadText(document.content, "other_user", document.about)


def list_approved_calls(db: Database, turn_id: str, seq: int) -> list[tuple[str, str]]:
    """Return the tool and the arguments of the turn's other calls that an operator approved."""
    sql = (
        "SELECT step.name, step.args FROM approval JOIN step ON step.turn_id = approval.turn_id"
        " AND step.seq = approval.seq WHERE approval.turn_id = ? AND approval.seq <> ?"
        " AND approval.state = 'used'"
    )
    return [(str(name), str(arguments)) for name, arguments in db.execute(sql, (turn_id, seq))]
