"""Dead letters: messages given up because they kept ending their agent's process.

An operator puts one back into its chat's queue, for a new turn, or drops it for good. Tasks of
subagents are excluded: the parent receives their failure.
"""

import apsw

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db import audit
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import INBOX, SUBAGENT, InboxRow

DEAD = f"state = 'dead' AND kind <> '{SUBAGENT}'"
DROPPED = "dropped by the operator"


def every(db: apsw.Connection) -> list[InboxRow]:
    return INBOX.select(db, f"{DEAD} ORDER BY id")


def retry(db: apsw.Connection, row_id: int, now: int) -> None:
    """Make a dead message new again and reset its count of process deaths.

    Raises:
        OrchestratorError: the message is not dead.
    """
    db.execute(
        "UPDATE inbox SET state = 'new', claims = 0, turn_id = NULL, after_step = NULL,"
        f" ended_at = NULL, error = NULL WHERE id = ? AND {DEAD}",
        (row_id,),
    )
    _decided(db, row_id, "dead letter put back", now)


def drop(db: apsw.Connection, row_id: int, now: int) -> None:
    """Cancel a dead message for good; its trace is kept.

    Raises:
        OrchestratorError: the message is not dead.
    """
    inbox.end(db, f"id = ? AND {DEAD}", row_id, "cancelled", DROPPED, now)
    _decided(db, row_id, "dead letter dropped", now)


def _decided(db: apsw.Connection, row_id: int, act: str, now: int) -> None:
    if db.changes() != 1:
        raise OrchestratorError(
            f"message {row_id} is not a dead letter; see 'orchestrator dlq list'"
        )
    audit.record(db, "operator", act, f"inbox {row_id}", now)
