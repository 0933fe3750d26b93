"""Dead letters: messages that were given up because they kept ending their agent's process.

An operator puts one back into its chat's line (a fresh turn) or drops it for good. The work of a
subagent is none: whoever wanted it was told.
"""

import apsw

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db import audit
from orchestrator.journal.turns.inbox import COLUMNS, SUBAGENT, InboxRow, from_values

DEAD = f"state = 'dead' AND kind <> '{SUBAGENT}'"
DROPPED = "dropped by the operator"


def every(db: apsw.Connection) -> list[InboxRow]:
    """The messages that are dead, oldest first."""
    rows = db.execute(f"SELECT {COLUMNS} FROM inbox WHERE {DEAD} ORDER BY id")
    return [from_values(row) for row in rows]


def retry(db: apsw.Connection, row_id: int, now: int) -> None:
    """Put a dead message back as new, with its deaths forgotten.

    Raises:
        OrchestratorError: it is not dead.
    """
    db.execute(
        "UPDATE inbox SET state = 'new', claims = 0, turn_id = NULL, after_step = NULL,"
        f" ended_at = NULL, error = NULL WHERE id = ? AND {DEAD}",
        (row_id,),
    )
    _decided(db, row_id, "dead letter put back", now)


def drop(db: apsw.Connection, row_id: int, now: int) -> None:
    """End a dead message for good; its trace stays.

    Raises:
        OrchestratorError: it is not dead.
    """
    db.execute(
        f"UPDATE inbox SET state = 'cancelled', ended_at = ?, error = ? WHERE id = ? AND {DEAD}",
        (now, DROPPED, row_id),
    )
    _decided(db, row_id, "dead letter dropped", now)


def _decided(db: apsw.Connection, row_id: int, act: str, now: int) -> None:
    if db.changes() != 1:
        raise OrchestratorError(f"message {row_id} is no dead letter; see 'orchestrator dlq list'")
    audit.record(db, "operator", act, f"inbox {row_id}", now)
