"""Turns that are stopped: by a person, or by a newer message that they would only delay.

What a stopped turn has subagents do is stopped with it.
"""

from collections.abc import Iterable

import apsw
import orjson

from orchestrator.journal.turns import inbox, sessions, steps, subagents, transcript, turns, usage
from orchestrator.journal.turns.subagents import SubagentRun
from orchestrator.journal.turns.turns import STOPPED


def cancel(db: apsw.Connection, chat_key: str, reason: str, now: int) -> str | None:
    """End a chat's open turn, its messages, its calls and what it has subagents do.

    Returns the turn's id, None if none is open.

    The session keeps what was said so far. A model call in hand counts as it was reserved, a
    question that waits for a person is withdrawn. Its preview is closed by
    `turns.close_preview`, once nobody shows it any more.
    """
    query = f"SELECT id FROM turn WHERE chat_key = ? AND {turns.OPEN}"
    turn_id = db.execute(query, (chat_key,)).get
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
    _cancel_work(db, subagents.begun_by(db, turn_id), reason, now)
    return turn_id


def stop(db: apsw.Connection, chat_key: str, reason: str, now: int) -> list[str] | None:
    """End everything that is done for a chat, in the background too.

    Returns the turns that were ended, None if there was nothing to end.
    """
    work = subagents.in_chat(db, chat_key)
    ended = _cancel_work(db, work, reason, now)
    turn_id = cancel(db, chat_key, reason, now)
    if turn_id is not None:
        return [turn_id, *ended]
    return ended if work else None


def cancel_awaited(db: apsw.Connection, turn_id: str, now: int) -> None:
    """End the work that a turn's calls wait for, as the turn ends without it."""
    awaited = [run for run in subagents.begun_by(db, turn_id) if run.wait]
    _cancel_work(db, awaited, "its parent's turn has ended", now)


def cancelled(db: apsw.Connection, turn_ids: Iterable[str]) -> list[str]:
    """Those of the turns that are cancelled."""
    rows = db.execute(
        "SELECT id FROM turn WHERE state = 'cancelled' AND id IN (SELECT value FROM json_each(?))",
        (orjson.dumps(list(turn_ids)).decode(),),
    )
    return [str(turn_id) for (turn_id,) in rows]


def _cancel_work(
    db: apsw.Connection, runs: Iterable[SubagentRun], reason: str, now: int
) -> list[str]:
    """The turns that were ended."""
    ended = []
    for run in runs:
        ended.append(cancel(db, run.lane, reason, now))
        db.execute(  # what was not begun
            "UPDATE inbox SET state = 'cancelled', ended_at = ?, error = ?"
            " WHERE id = ? AND state = 'new'",
            (now, reason, run.inbox_id),
        )
    return [turn_id for turn_id in ended if turn_id is not None]
