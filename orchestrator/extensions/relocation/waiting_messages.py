"""Messages that no turn has taken: whose they are, and how late ones follow their agent."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from orchestrator import routing
from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.relocation.row_file import decode_row, encode_row, iter_rows
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, subagents

FOLLOW = (inbox.TASK, inbox.SUBAGENT, inbox.RESULT)  # what the new home makes by itself
# Of a message: its own row comes first.
PARTS = {
    "inbox": "SELECT * FROM inbox WHERE id = ?",
    "media": """SELECT * FROM media WHERE id IN(
      SELECT media_id FROM attachment WHERE inbox_id = ?)""",
    "attachment": "SELECT * FROM attachment WHERE inbox_id = ?",
    "request": "SELECT * FROM request WHERE inbox_id = ?",
}
SHARED = ("channel_offset", "media")  # which the new home may have
OFFSETS = "channel_offset"
RECEIVED = "SELECT * FROM channel_offset WHERE channel = ?"
KNOWN = """SELECT 1 FROM inbox WHERE channel = ? AND bot_id = ? AND chat_id = ? AND message_id = ?
  AND edit_date = ? AND kind = ?"""
UNIQUE = ("channel", "bot_id", "chat_id", "message_id", "edit_date", "kind")


def list_waiting(db: Database, agents: AgentsFile, agent_id: str) -> list[inbox.InboxRow]:
    """Return the messages that an agent would answer next, in order."""
    rows = inbox.INBOX.select(db, "state = 'new' ORDER BY id")
    return [
        row
        for row in rows
        if not row.chat_key.startswith(subagents.QUEUE)
        and routing.find_answering_agent(db, agents, row, row.chat_key) == agent_id
    ]


def write_messages(
    path: Path, db: Database, rows: list[inbox.InboxRow], channels: Iterable[str]
) -> int:
    """Write messages of people and programs to a new file, and return how many there are.

    With them goes up to where the ``channels`` were received, so that nothing is received twice.
    """
    count = 0
    with path.open("xb") as file:
        path.chmod(0o600)
        for channel in channels:
            file.writelines(_format_lines(db, OFFSETS, RECEIVED, channel))
        for row in rows:
            if row.kind in FOLLOW:
                continue
            count += 1
            for table, query in PARTS.items():
                file.writelines(_format_lines(db, table, query, row.id))
    return count


def store_messages(db: Database, path: Path) -> int:
    """Store the messages of a file that are not known yet, and return how many those were."""
    new_id: int | None = None
    stored = 0
    for table, values in _iter_stored_rows(path):
        if table == "inbox":
            known = db.execute(KNOWN, [values[name] for name in UNIQUE]).get
            new_id = None
            if known is None:
                del values["id"]
                new_id = int(str(_insert(db, table, values, " RETURNING id")))
                stored += 1
        elif table in SHARED:
            _insert(db, table, values, " ON CONFLICT DO NOTHING")
        elif new_id is not None:
            _insert(db, table, {**values, "inbox_id": new_id})
    return stored


def _format_lines(db: Database, table: str, query: str, value: int | str) -> Iterator[bytes]:
    for names, values in iter_rows(db.execute(query, (value,))):
        yield orjson.dumps([table, names, *orjson.loads(encode_row(values))]) + b"\n"


def _iter_stored_rows(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    with path.open("rb") as file:
        for line in file:
            table, names, *row = orjson.loads(line)
            yield table, dict(zip(names, decode_row(row), strict=True))


def _insert(db: Database, table: str, values: dict[str, object], end: str = "") -> object:
    quoted = ", ".join(f'"{name}"' for name in values)
    places = ", ".join("?" * len(values))
    cursor = db.execute(f"INSERT INTO {table}({quoted}) VALUES({places}){end}", [*values.values()])
    return cursor.get if "RETURNING" in end else None
