"""Forgetting what is old: each function removes a few rows and says how many (design §10).

Never what an open turn, a session's window, the recognition of repeated updates or an agent's way
to a chat needs. Dead letters wait for the operator, the audit log and the profile's history stay.
"""

from collections.abc import Callable, Sequence

import apsw

BATCH = 20  # turns that one transaction removes: the journal is held for some milliseconds
ROWS = 500  # of everything else
Remove = Callable[[apsw.Connection, int], int]

# The newest message of a chat is how an agent finds the chat again; nobody writes to a program.
NEWEST = """(own.kind <> 'request' AND NOT EXISTS(SELECT 1 FROM inbox AS later
  WHERE later.channel = own.channel
  AND later.bot_id = own.bot_id AND later.chat_id = own.chat_id
  AND later.agent_id IS own.agent_id AND later.id > own.id))"""

# A subagent's turn goes with that of the call that wanted it, and the message that told its result
# not before.
OLD_TURNS = f"""SELECT id FROM turn
WHERE state IN('closed','cancelled','failed') AND ended_at < :before AND recipe <> 'subagent'
AND NOT EXISTS(SELECT 1 FROM subagent_run AS run JOIN inbox AS work ON work.id = run.inbox_id
  WHERE run.turn_id = turn.id AND ifnull(work.ended_at, :before) >= :before)
AND NOT EXISTS(SELECT 1 FROM inbox AS note WHERE note.turn_id = turn.id
  AND note.kind = 'subagent_result' AND EXISTS(SELECT 1 FROM subagent_run AS told
    WHERE format('%s:%d', told.turn_id, told.seq) = note.message_id))
AND NOT EXISTS(SELECT 1 FROM inbox AS own WHERE own.turn_id = turn.id AND {NEWEST})
ORDER BY ended_at LIMIT {BATCH}"""

WORK = """SELECT inbox.id, inbox.turn_id FROM subagent_run AS run
JOIN inbox ON inbox.id = run.inbox_id WHERE run.turn_id = ?"""

OF_A_TURN = (
    "DELETE FROM approval WHERE turn_id = ?",
    "DELETE FROM task_run WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
    "DELETE FROM attachment WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
    "DELETE FROM request WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
    """DELETE FROM transition WHERE kind = 'inbox'
      AND number IN(SELECT id FROM inbox WHERE turn_id = ?)""",
    "DELETE FROM transition WHERE turn_id = ?",
    "DELETE FROM inbox WHERE turn_id = ?",
    "DELETE FROM outbox WHERE turn_id = ?",
    "DELETE FROM step WHERE turn_id = ?",
    "DELETE FROM turn_prompt WHERE turn_id = ?",
    "DELETE FROM turn WHERE id = ?",
)

UNUSED_PARTS = """DELETE FROM prompt_part
WHERE NOT EXISTS(SELECT 1 FROM turn_prompt WHERE definition = digest)
AND NOT EXISTS(SELECT 1 FROM turn_prompt WHERE tools = digest)"""


def turns(db: apsw.Connection, before: int) -> int:
    """Turns that ended before a time (milliseconds) with all that belongs to them."""
    found = [str(turn) for (turn,) in db.execute(OLD_TURNS, {"before": before}).fetchall()]
    for turn in found:
        work = db.execute(WORK, (turn,)).fetchall()
        db.execute("DELETE FROM subagent_run WHERE turn_id = ?", (turn,))
        for row, child in work:
            if child is None:  # cancelled before anybody began it
                db.execute("DELETE FROM transition WHERE kind = 'inbox' AND number = ?", (row,))
                db.execute("DELETE FROM inbox WHERE id = ?", (row,))
            else:
                _forget(db, str(child))
        _forget(db, turn)
    db.execute(
        "DELETE FROM subagent WHERE created_at < ?"
        " AND NOT EXISTS(SELECT 1 FROM subagent_run WHERE subagent_id = subagent.id)",
        (before,),
    )
    if found:
        db.execute(UNUSED_PARTS)
    return len(found)


def _forget(db: apsw.Connection, turn_id: str) -> None:
    for statement in OF_A_TURN:
        db.execute(statement, (turn_id,))


def loose(db: apsw.Connection, before: int) -> int:
    """Updates and notices of no turn: commands, refusals, what the daemon itself told a chat."""
    ids = f"""SELECT id FROM inbox AS own WHERE turn_id IS NULL AND ended_at < ?
      AND state IN('done','cancelled') AND kind NOT IN('task','subagent','subagent_result')
      AND NOT {NEWEST} LIMIT {ROWS}"""
    return _remove(
        db,
        ids,
        before,
        (("attachment", "inbox_id"), ("request", "inbox_id"), ("inbox", "id")),
        "inbox",
    ) + (
        _remove(
            db,
            "SELECT id FROM outbox WHERE turn_id IS NULL AND ended_at < ?"
            f" AND state IN('delivered','abandoned','failed_permanent') LIMIT {ROWS}",
            before,
            (("outbox", "id"),),
            "outbox",
        )
    )


def messages(db: apsw.Connection, before: int) -> int:
    """Messages of sessions that have ended, or that a summary stands for; then empty sessions."""
    db.execute(
        "DELETE FROM message WHERE id IN(SELECT message.id FROM message JOIN session"
        " ON session.id = session_id WHERE at < ? AND (ended_at IS NOT NULL"
        f" OR message.id <= summary_upto) LIMIT {ROWS})",
        (before,),
    )
    count = db.changes()
    db.execute(
        "DELETE FROM session WHERE ended_at < ?"
        " AND NOT EXISTS(SELECT 1 FROM message WHERE session_id = session.id)"
        " AND NOT EXISTS(SELECT 1 FROM turn WHERE session_id = session.id)",
        (before,),
    )
    return count


def pictures(db: apsw.Connection, before: int) -> int:
    """The bytes of pictures; what they were of stays."""
    db.execute(
        f"DELETE FROM media WHERE id IN(SELECT id FROM media WHERE at < ? LIMIT {BATCH})", (before,)
    )
    return db.changes()


def calls(db: apsw.Connection, before: int) -> int:
    """What model calls took."""
    db.execute(
        f"DELETE FROM model_call WHERE id IN(SELECT id FROM model_call WHERE at < ? LIMIT {ROWS})",
        (before,),
    )
    return db.changes()


def _remove(
    db: apsw.Connection, ids: str, before: int, tables: Sequence[tuple[str, str]], kind: str
) -> int:
    found = [(number,) for (number,) in db.execute(ids, (before,)).fetchall()]
    db.executemany(
        f"DELETE FROM transition WHERE kind = '{kind}' AND number = ? AND turn_id IS NULL", found
    )
    for table, column in tables:
        db.executemany(f"DELETE FROM {table} WHERE {column} = ?", found)
    return len(found)
