"""The rows of the journal that a recorded turn is rebuilt from, as JSON for another machine."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TypeAlias

from orchestrator.journal.db.database import Database

Value: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Value]
CaseTables: TypeAlias = dict[str, list[Row]]

# The columns that a request depends on; a row comes after the rows that it refers to.
NAMES = {
    "session": "id agent_id chat_key started_at ended_at scope parent_id parent_upto",
    "turn": """id agent_id chat_key session_id recipe state epoch deadline allowed code_ver
      started_at ended_at stop_reason repaired taint scope""",
    "inbox": """id channel bot_id chat_id thread_id chat_key message_id edit_date kind sender_id
      sender_name private target text agent_id turn_id state received_at ended_at after_step
      album origin while_busy quote""",
    "attachment": "inbox_id part handle about state media_id media_type name body voice",
    "request": "inbox_id id digest previous_id conversation body outcome",
    "message": "id session_id turn_id body at",
    "prompt_part": "digest body",
    "turn_prompt": """turn_id at body definition tools common settings agent_id history_first
      history_last""",
    "step": """turn_id seq kind parent name class args args_hash call_id state result finish
      usage request_id epoch t_plan t_intent t_end timing""",
    "tool_file": "turn_id seq part media_id name",
    "model_call": "agent_id turn_id model state prompt completion cached usd at seq",
    "media": "id media_type data at",
}
COLUMNS = {table: tuple(names.split()) for table, names in NAMES.items()}
LINE = """WITH RECURSIVE line(id) AS (
  SELECT session_id FROM turn WHERE id = ?1
  UNION SELECT session_id FROM turn_prompt JOIN message ON message.id = history_last
    WHERE turn_prompt.turn_id = ?1
  UNION SELECT parent_id FROM line JOIN session ON session.id = line.id
    WHERE parent_id IS NOT NULL)"""
SHOWN = f"""{LINE} SELECT message.id FROM turn_prompt JOIN message
  ON message.id BETWEEN history_first AND history_last
  WHERE turn_prompt.turn_id = ?1 AND session_id IN(SELECT id FROM line)"""
OWN_INBOX = "SELECT id FROM inbox WHERE turn_id = ?1"
PARTS = "SELECT {} FROM turn_prompt WHERE turn_id = ?1 AND {} IS NOT NULL"
PICTURED = f"""SELECT media_id FROM attachment WHERE inbox_id IN({OWN_INBOX})
  UNION SELECT media_id FROM tool_file WHERE turn_id = ?1
  UNION SELECT media.id FROM message JOIN media ON instr(body, media.id) > 0
    WHERE message.id IN({SHOWN}) AND instr(body, '"ref"') > 0"""
WHERE: Mapping[str, str] = {
    "session": f"id IN({LINE} SELECT id FROM line) ORDER BY id",
    "turn": "id = ?1",
    "inbox": "turn_id = ?1 ORDER BY id",
    "attachment": f"inbox_id IN({OWN_INBOX}) ORDER BY inbox_id, part",
    "request": f"inbox_id IN({OWN_INBOX})",
    "message": f"id IN({SHOWN}) ORDER BY id",
    "prompt_part": "digest IN("
    + " UNION ".join(
        PARTS.format(name, name) for name in ("definition", "tools", "common", "settings")
    )
    + ") ORDER BY digest",
    "turn_prompt": "turn_id = ?1 ORDER BY at",
    "step": "turn_id = ?1 ORDER BY seq",
    "tool_file": "turn_id = ?1 ORDER BY seq, part",
    "model_call": "turn_id = ?1 AND state = 'settled' ORDER BY id",
    "media": f"id IN({PICTURED}) ORDER BY id",
}


def read_case_rows(db: Database, turn_id: str) -> CaseTables:
    """Return the rows of a turn by table; its sessions count as ended.

    So no machine looks for facts in them, or goes on with them.
    """
    found: CaseTables = {}
    for table, columns in COLUMNS.items():
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE {WHERE[table]}"
        rows = db.execute(sql, (turn_id,)).fetchall()
        named = [dict(zip(columns, map(_encode_value, row), strict=True)) for row in rows]
        found[table] = named
    for session in found["session"]:
        session["ended_at"] = session["ended_at"] or session["started_at"]
    return found


def insert_case_rows(db: Database, tables: CaseTables) -> None:
    """Insert the rows of a turn into a journal that may have some of them already."""
    for table, columns in COLUMNS.items():
        marks = ",".join("?" * len(columns))
        sql = f"INSERT INTO {table}({', '.join(columns)}) VALUES({marks}) ON CONFLICT DO NOTHING"
        for row in tables.get(table, []):
            db.execute(sql, tuple(_decode_value(name, row.get(name)) for name in columns))


def _encode_value(value: object) -> Value:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value if isinstance(value, str | int | float) else None


def _decode_value(column: str, value: Value) -> str | int | float | bytes | None:
    return b64decode(str(value)) if column == "data" else value
