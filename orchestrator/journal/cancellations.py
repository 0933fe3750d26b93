"""Turns that are stopped: by a person, or by a newer message that they would only delay."""

import apsw

from orchestrator.journal import inbox, sessions, steps, transcript, turns, usage
from orchestrator.journal.turns import STOPPED


def cancel(db: apsw.Connection, chat_key: str, reason: str, now: int) -> str | None:
    """End a chat's open turn, its messages and its calls; the turn's id, None if none is open.

    The session keeps what was said so far. A model call in hand counts as it was reserved, a
    question that waits for a person is withdrawn. Its preview is closed by
    `turns.close_preview`, once nobody shows it any more.
    """
    turn_id = db.execute(
        "SELECT id FROM turn WHERE chat_key = ? AND state IN('running','waiting')", (chat_key,)
    ).get
    if not isinstance(turn_id, str):
        return None
    turn = turns.load(db, turn_id)
    db.execute(
        "UPDATE turn SET state = 'cancelled', stop_reason = 'cancelled', error = ?, ended_at = ?"
        " WHERE id = ?",
        (reason, now, turn_id),
    )
    steps.abandon(db, turn_id, reason, now)
    rows = inbox.of_turn(db, turn_id)
    if turn.recipe == "interactive":
        said = transcript.of_turn(db, turn_id, rows, STOPPED)
        sessions.append(db, turn.session_id, turn_id, said, now)
    db.execute(
        "UPDATE inbox SET state = 'cancelled', ended_at = ?, error = ?"
        " WHERE turn_id = ? AND state = 'claimed'",
        (now, reason, turn_id),
    )
    db.execute(
        "UPDATE approval SET state = 'denied', decided_at = ? WHERE turn_id = ?"
        " AND state IN('pending','granted')",
        (now, turn_id),
    )
    usage.lose(db, turn_id)
    return turn_id
