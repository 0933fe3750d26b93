"""Retention: each function removes at most ``limit`` old rows and returns their number.

The details of a turn or a picture come on top. Rows stay if an open turn or a session's window
needs them, if they identify a repeated update, or if they hold the address of a chat. Dead letters,
the audit log and the history of profiles are kept, and so is what a turn that was saved as a test
needs.

Where: are old records deleted?
"""

import re
from collections.abc import Callable, Sequence

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.row_times import find_end_of_rows_before
from orchestrator.journal.turns import prompt_records

BATCH = 20  # turns or pictures, if nothing else is said
ROWS = 500  # rows of other tables
Remove = Callable[[Database, int, int], int]

# An agent finds a chat again by its newest message. Clients of the HTTP API are not written to.
IS_NEWEST = """(own.kind <> 'request' AND NOT EXISTS(SELECT 1 FROM inbox AS later
  WHERE later.channel = own.channel
  AND later.bot_id = own.bot_id AND later.chat_id = own.chat_id
  AND later.agent_id IS NOT DISTINCT FROM own.agent_id AND later.id > own.id))"""

# A subagent's turn is removed with the turn of the call that began it, and the message with its
# result not before.
OLD_TURNS = f"""SELECT id FROM turn
WHERE rowid < :below AND state IN('closed','cancelled','failed') AND ended_at < :before
AND recipe <> 'subagent' AND NOT EXISTS(SELECT 1 FROM saved_turn WHERE turn_id = turn.id)
AND NOT EXISTS(SELECT 1 FROM subagent_run AS run JOIN inbox AS work ON work.id = run.inbox_id
  WHERE run.turn_id = turn.id AND ifnull(work.ended_at, :before) >= :before)
AND NOT EXISTS(SELECT 1 FROM inbox AS note WHERE note.turn_id = turn.id
  AND note.kind = 'subagent_result' AND EXISTS(SELECT 1 FROM subagent_run AS reported
    WHERE format('%s:%s', reported.turn_id, reported.seq) = note.message_id))
AND NOT EXISTS(SELECT 1 FROM inbox AS own WHERE own.turn_id = turn.id AND {IS_NEWEST})
LIMIT :limit"""

WORK = """SELECT inbox.id, inbox.turn_id FROM subagent_run AS run
JOIN inbox ON inbox.id = run.inbox_id WHERE run.turn_id = ?"""

OF_A_TURN = (
    "DELETE FROM call_verdict WHERE turn_id = ?",
    "DELETE FROM approval WHERE turn_id = ?",
    "DELETE FROM task_run WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
    "DELETE FROM attachment WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
    """DELETE FROM conversation_item WHERE request_id IN(SELECT request.id FROM request
      JOIN inbox ON inbox.id = inbox_id WHERE turn_id = ?)""",
    "DELETE FROM request WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
    """DELETE FROM transition WHERE kind = 'inbox'
      AND number IN(SELECT id FROM inbox WHERE turn_id = ?)""",
    "DELETE FROM transition WHERE turn_id = ?",
    "DELETE FROM inbox WHERE turn_id = ?",
    "DELETE FROM outbox WHERE turn_id = ?",
    "DELETE FROM tool_file WHERE turn_id = ?",
    "DELETE FROM step WHERE turn_id = ?",
    "DELETE FROM degradation WHERE turn_id = ?",
    "DELETE FROM turn_prompt WHERE turn_id = ?",
    "DELETE FROM trial_turn WHERE turn_id = ?",
    "DELETE FROM turn WHERE id = ?",
)


# The conversations that the history of each saved turn is read from.
PINNED_LINES = """WITH RECURSIVE line(turn_id, session_id) AS (
  SELECT turn_id, session_id FROM saved_turn JOIN turn ON turn.id = turn_id
  UNION SELECT turn_id, parent_id FROM line JOIN session ON session.id = session_id
  WHERE parent_id IS NOT NULL)"""
IN_PINNED_WINDOW = """EXISTS(SELECT 1 FROM line
  JOIN turn_prompt ON turn_prompt.turn_id = line.turn_id WHERE line.session_id = message.session_id
  AND message.id BETWEEN history_first AND history_last)"""
PICTURED = """SELECT body FROM message WHERE session_id = ? AND id BETWEEN ? AND ?
  AND instr(body, '"ref"') > 0"""
REF = re.compile(r'"ref":"([0-9a-f]{64})"')  # the reference to a picture in a message


def delete_old_turns(db: Database, before: int, limit: int = BATCH) -> int:
    below = find_end_of_rows_before(db, "turn", before)
    bounds = {"before": before, "below": below, "limit": limit}
    found = [str(turn) for (turn,) in db.execute(OLD_TURNS, bounds).fetchall()]
    for turn in found:
        runs = db.execute(WORK, (turn,)).fetchall()
        db.execute("DELETE FROM subagent_run WHERE turn_id = ?", (turn,))
        for row, child in runs:
            if child is None:  # cancelled before a turn began it
                db.execute("DELETE FROM transition WHERE kind = 'inbox' AND number = ?", (row,))
                db.execute("DELETE FROM inbox WHERE id = ?", (row,))
            else:
                _delete_turn(db, str(child))
        _delete_turn(db, turn)
    db.execute(
        "DELETE FROM subagent WHERE created_at < ?"
        " AND NOT EXISTS(SELECT 1 FROM subagent_run WHERE subagent_id = subagent.id)",
        (before,),
    )
    if found:
        prompt_records.delete_unused_parts(db)
    return len(found)


def _delete_turn(db: Database, turn_id: str) -> None:
    for statement in OF_A_TURN:
        db.execute(statement, (turn_id,))


def delete_old_trials(db: Database, before: int, limit: int = BATCH) -> int:
    """Remove trials with what was tried in them."""
    old = "SELECT id FROM trial WHERE made_at < ? AND state <> 'running' LIMIT ?"
    db.execute(f"DELETE FROM trial_turn WHERE trial_id IN({old})", (before, limit))
    db.execute(f"DELETE FROM trial WHERE id IN({old})", (before, limit))
    return db.changes()


def delete_loose_messages(db: Database, before: int, limit: int = ROWS) -> int:
    """Remove updates and notices without a turn: commands, refusals, messages of the daemon."""
    updates = f"""SELECT id FROM inbox AS own WHERE turn_id IS NULL AND ended_at < ?
      AND state IN('done','cancelled') AND kind NOT IN('task','subagent','subagent_result')
      AND NOT {IS_NEWEST} LIMIT ?"""
    notices = """SELECT id FROM outbox WHERE turn_id IS NULL AND ended_at < ?
      AND state IN('delivered','abandoned','failed_permanent') LIMIT ?"""
    bounds = (before, limit)
    removed = _delete_rows(db, "inbox", updates, bounds, ("attachment", "request", "held"))
    return removed + _delete_rows(db, "outbox", notices, bounds)


def delete_old_messages(db: Database, before: int, limit: int = ROWS) -> int:
    """Remove messages of ended sessions and summarized messages, then empty sessions."""
    found = db.execute(
        f"{PINNED_LINES} SELECT message.id FROM session CROSS JOIN message"
        " WHERE session_id = session.id AND at < ?2"
        " AND message.id < iif(ended_at IS NULL, min(summary_upto + 1, ?1), ?1)"
        f" AND NOT {IN_PINNED_WINDOW} LIMIT ?3",
        (find_end_of_rows_before(db, "message", before), before, limit),
    ).fetchall()
    db.executemany("DELETE FROM message WHERE id = ?", found)
    db.execute(
        "DELETE FROM session WHERE ended_at < ?"
        " AND NOT EXISTS(SELECT 1 FROM message WHERE session_id = session.id)"
        " AND NOT EXISTS(SELECT 1 FROM turn WHERE session_id = session.id)"
        " AND NOT EXISTS(SELECT 1 FROM session AS child WHERE child.parent_id = session.id)",
        (before,),
    )
    return len(found)


def delete_old_pictures(db: Database, before: int, limit: int = BATCH) -> int:
    """Remove the bytes of pictures; their descriptions are kept."""
    kept = _list_pinned_pictures(db)
    old = db.execute("SELECT id FROM media WHERE at < ? LIMIT ?", (before, limit + len(kept)))
    found = [(one,) for (one,) in old.fetchall() if one not in kept][:limit]
    db.executemany("DELETE FROM media WHERE id = ?", found)
    return len(found)


def _list_pinned_pictures(db: Database) -> set[str]:
    """Return the files and pictures of saved turns, and of the history that they were sent with."""
    own = db.execute(
        "SELECT media_id FROM attachment JOIN inbox ON inbox.id = inbox_id"
        " WHERE media_id IS NOT NULL AND turn_id IN(SELECT turn_id FROM saved_turn)"
        " UNION SELECT media_id FROM tool_file WHERE turn_id IN(SELECT turn_id FROM saved_turn)"
    )
    kept = {str(one) for (one,) in own}
    windows = db.execute(
        f"{PINNED_LINES} SELECT DISTINCT session_id, history_first, history_last"
        " FROM line JOIN turn_prompt ON turn_prompt.turn_id = line.turn_id"
    ).fetchall()
    for window in windows:
        for (body,) in db.execute(PICTURED, window):
            kept.update(REF.findall(str(body)))
    return kept


def delete_old_calls(db: Database, before: int, limit: int = ROWS) -> int:
    old = "SELECT id FROM model_call WHERE id < ? AND at < ? ORDER BY id LIMIT ?"
    bounds = (find_end_of_rows_before(db, "model_call", before), before, limit)
    found = db.execute(old, bounds).fetchall()
    db.executemany("DELETE FROM model_call WHERE id = ?", found)
    return len(found)


def delete_unused_conversations(db: Database, before: int, limit: int = ROWS) -> int:
    """Remove conversations of clients without requests."""
    unused = """SELECT id FROM conversation WHERE created_at < ? AND NOT EXISTS(
      SELECT 1 FROM request WHERE conversation = conversation.id) LIMIT ?"""
    found = db.execute(unused, (before, limit)).fetchall()
    db.executemany("DELETE FROM conversation_item WHERE conversation_id = ?", found)
    db.executemany("DELETE FROM conversation WHERE id = ?", found)
    return len(found)


def delete_ended_logins(db: Database, before: int) -> int:
    """Remove the page's sessions and invites that have ended, which are few."""
    count = 0
    for table in ("web_session", "web_invite"):
        db.execute(f"DELETE FROM {table} WHERE ends_at < ?", (before,))
        count += db.changes()
    return count


def delete_ended_rules(db: Database, before: int) -> int:
    """Remove approvals that stood and have ended, which are few."""
    db.execute("DELETE FROM standing_approval WHERE ends_at < ?", (before,))
    return db.changes()


def _delete_rows(
    db: Database, table: str, ids: str, bounds: tuple[int, int], details: Sequence[str] = ()
) -> int:
    """Remove rows of a table with their history and their rows in ``details``."""
    found = db.execute(ids, bounds).fetchall()
    history = f"DELETE FROM transition WHERE kind = '{table}' AND number = ? AND turn_id IS NULL"
    db.executemany(history, found)
    for detail in details:
        db.executemany(f"DELETE FROM {detail} WHERE inbox_id = ?", found)
    db.executemany(f"DELETE FROM {table} WHERE id = ?", found)
    return len(found)
