"""Messages that enter a running turn instead of waiting for the next one."""

from collections.abc import Callable

import apsw

from orchestrator.journal.db.store import FencedError
from orchestrator.journal.turns import attachments, inbox, notes, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.notes import Note
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.messages import UserMessage


def enter(
    db: apsw.Connection, turn: Turn, takes: Callable[[InboxRow], bool]
) -> tuple[UserMessage, ...]:
    """Make what was said in a turn's chat part of the turn, after the step that it is at.

    ``takes`` says whether the turn's agent answers a message; one that it does not, and those
    after it, wait for a turn of their own.

    Raises:
        FencedError: the turn is no longer run here, or has no step yet.
    """
    step = db.execute(
        "SELECT max(seq) FROM step JOIN turn ON turn.id = turn_id WHERE turn_id = ?"
        " AND kind = 'model' AND turn.epoch = ? AND turn.state = 'running'",
        (turn.id, turn.epoch),
    ).get
    if step is None:
        raise FencedError(f"turn {turn.id} is no longer run here")
    entered = []
    while (row := inbox.oldest_new(db, turn.chat_key)) is not None and takes(row):
        _claim(db, turn, step, row.id)
        entered.append(attachments.said(db, row.id, row.text))
    return attachments.filled(db, entered)


def put(db: apsw.Connection, turn: Turn, note: Note, now: int) -> None:
    """Make a message of the daemon's own part of a turn, after the step that it is at."""
    row = notes.post(db, turns.origin(db, turn.id).address(), note, now)
    step = db.execute(
        "SELECT max(seq) FROM step WHERE turn_id = ? AND kind = 'model'", (turn.id,)
    ).get
    if row is not None:
        _claim(db, turn, int(step or 0), row)


def _claim(db: apsw.Connection, turn: Turn, step: int, row: int) -> None:
    db.execute(
        "UPDATE inbox SET state = 'claimed', agent_id = ?, turn_id = ?, after_step = ?"
        " WHERE id = ?",
        (turn.agent_id, turn.id, step, row),
    )
