"""What models were sent: one record for each process that ran a turn, with its first step."""

import apsw

from thinker.protocol.messages import LayerRecord
from thinker.protocol.promptrecord import PromptRecord


def record(db: apsw.Connection, turn_id: str, prompt: PromptRecord, now: int) -> tuple[str, ...]:
    """Keep a prompt; what its stable part differs in from the session's turn before."""
    (row,) = db.execute("SELECT session_id, started_at FROM turn WHERE id = ?", (turn_id,))
    earlier = _before(db, int(row[0]), int(row[1]), turn_id)
    changed = () if earlier is None else prompt.differences(earlier)
    kept = prompt.model_copy(update={"changed": changed})
    db.execute(
        "INSERT OR IGNORE INTO turn_prompt VALUES(?,?,?)", (turn_id, now, kept.model_dump_json())
    )
    return changed


def sent(db: apsw.Connection, turn_id: str) -> tuple[LayerRecord, ...] | None:
    """What stood at the head of a turn's newest message; None while its model was sent nothing."""
    body = db.execute(
        "SELECT body FROM turn_prompt WHERE turn_id = ? ORDER BY at LIMIT 1", (turn_id,)
    ).get
    return None if body is None else PromptRecord.model_validate_json(str(body)).context


def offered(db: apsw.Connection, session_id: int, started: int, turn_id: str) -> tuple[str, ...]:
    """The tools of the session's turn before."""
    earlier = _before(db, session_id, started, turn_id)
    return () if earlier is None else earlier.tools


def _before(
    db: apsw.Connection, session_id: int, started: int, turn_id: str
) -> PromptRecord | None:
    body = db.execute(
        "SELECT body FROM turn JOIN turn_prompt ON turn_id = turn.id WHERE session_id = ?"
        " AND started_at <= ? AND turn.id <> ? ORDER BY started_at DESC, turn.rowid DESC, at DESC"
        " LIMIT 1",
        (session_id, started, turn_id),
    ).get
    return None if body is None else PromptRecord.model_validate_json(str(body))
