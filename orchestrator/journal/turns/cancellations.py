"""Cancel turns, for a person or a newer message, with their subagents."""

from collections.abc import Iterable

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import (
    inbox,
    questions,
    sessions,
    steps,
    subagents,
    turns,
    usage,
)
from orchestrator.journal.turns.subagents import SubagentRun


def cancel_turn(db: Database, chat_key: str, reason: str, now: int) -> str | None:
    """Cancel a chat's open turn with its messages, its calls and the work of its subagents.

    The session keeps the turn's messages so far. An unfinished model call counts as reserved, and
    open approvals are denied. `turns.close_preview` closes the preview later, when no task updates
    it any more.

    Returns the turn's id, or None if no turn is open.
    """
    query = f"SELECT id FROM turn WHERE chat_key = ? AND {turns.OPEN}"
    turn_id = db.execute(query, (chat_key,)).get
    if not isinstance(turn_id, str):
        return None
    turn = turns.load_turn(db, turn_id)
    db.execute(
        "UPDATE turn SET state = 'cancelled', stop_reason = 'cancelled', error = ?, ended_at = ?"
        f" WHERE id = ? AND {turns.OPEN}",
        (reason, now, turn_id),
    )
    if not db.changes():  # it has ended meanwhile
        return None
    steps.abandon_calls(db, turn_id, reason, now)
    if turn.recipe == "interactive":
        known = sessions.load_transcript(db, turn_id)
        messages = sessions.build_session_messages(db, turn_id, known)
        sessions.append_messages(db, turn.session_id, turn_id, messages, now)
    inbox.end_messages(db, inbox.CLAIMED_BY, turn_id, "cancelled", reason, now)
    questions.withdraw_questions(db, turn_id, now)
    usage.mark_reservation_lost(db, turn_id)
    _cancel_work(db, subagents.list_open_runs_of_turn(db, turn_id), reason, now)
    return turn_id


def cancel_chat_work(db: Database, chat_key: str, reason: str, now: int) -> list[str] | None:
    """Cancel a chat's open turn and all its subagents, including background ones.

    Returns the turns that were cancelled, or None if there was no work to cancel.
    """
    work = subagents.list_open_runs_in_chat(db, chat_key)
    ended = _cancel_work(db, work, reason, now)
    turn_id = cancel_turn(db, chat_key, reason, now)
    if turn_id is not None:
        return [turn_id, *ended]
    return ended if work else None


def cancel_awaited_subagents(db: Database, turn_id: str, now: int) -> None:
    """Cancel the subagents that a turn's calls wait for, because the turn has ended."""
    awaited = [run for run in subagents.list_open_runs_of_turn(db, turn_id) if run.wait]
    _cancel_work(db, awaited, "its parent's turn has ended", now)


def list_cancelled_turns(db: Database, turn_ids: Iterable[str]) -> list[str]:
    rows = db.execute(
        "SELECT id FROM turn WHERE state = 'cancelled' AND id IN (SELECT value FROM json_each(?))",
        (orjson.dumps(list(turn_ids)).decode(),),
    )
    return [str(turn_id) for (turn_id,) in rows]


def _cancel_work(db: Database, runs: Iterable[SubagentRun], reason: str, now: int) -> list[str]:
    ended = []
    for run in runs:
        ended.append(cancel_turn(db, run.queue_name, reason, now))
        # A run that no turn has begun:
        inbox.end_messages(db, "id = ? AND state = 'new'", run.inbox_id, "cancelled", reason, now)
    return [turn_id for turn_id in ended if turn_id is not None]
