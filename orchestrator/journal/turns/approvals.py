"""Approvals: an operator's decisions about calls.

``pending → granted → used``, or ``denied``. An approval is valid for one call of one turn with
exactly its arguments, until it expires. T4 uses it up in the same transaction, so that only one of
several processes can run the call (invariant 18).

Where: is an approval used up by one call?
"""

from dataclasses import dataclass

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.steps import Call

LIFETIME = 86_400_000  # milliseconds: a day for the operator to answer
REPEAT_WINDOW = 86_400_000  # milliseconds in which repeating an unknown call needs an approval


@dataclass(frozen=True)
class Approval:
    """An approval of a call; ``expires`` in milliseconds, ``arguments`` as JSON.

    ``args_hash`` is the hash of the tool and arguments in question.
    """

    id: int
    code: str
    turn_id: str
    seq: int
    reason: str
    state: str
    expires: int
    tool: str
    arguments: str
    agent_id: str
    chat_key: str
    args_hash: str
    by_user: str | None
    note: str | None = None  # why it was denied

    def is_open(self, now: int) -> bool:
        return self.state == "pending" and self.expires > now


# The state of a call in `step`, in which a refused call has not failed.
CALL_STATE = (
    "iif(EXISTS(SELECT 1 FROM approval WHERE approval.turn_id = step.turn_id"
    " AND approval.seq = step.seq AND approval.state = 'denied'), 'denied', step.state)"
)
APPROVALS = Rows(
    Approval,
    "approval JOIN step ON step.turn_id = approval.turn_id AND step.seq = approval.seq"
    " JOIN turn ON turn.id = approval.turn_id",
    "approval.id, code, approval.turn_id, approval.seq, reason, approval.state, expires,"
    " step.name, step.args, turn.agent_id, turn.chat_key, approval.args_hash,"
    " by_user, note",
)


def request_approval(
    db: Database, call: Call, reason: str, code: str, now: int
) -> tuple[Approval, bool]:
    """Return the approval of a call, created if necessary, and whether it is new."""
    db.execute(
        "INSERT INTO approval(code, turn_id, seq, args_hash, reason, state, asked_at,"
        " expires) SELECT ?, turn_id, seq, args_hash, ?, 'pending', ?, ? FROM step"
        " WHERE turn_id = ? AND seq = ? ON CONFLICT DO NOTHING",
        (code, reason, now, now + LIFETIME, call.turn_id, call.seq),
    )
    new = db.changes() == 1
    where = "approval.turn_id = ? AND approval.seq = ?"
    (found,) = APPROVALS.select(db, where, call.turn_id, call.seq)
    return found, new


def find_approval(db: Database, code: str) -> Approval | None:
    return APPROVALS.find_first(db, "code = ?", code)


def find_approval_by_id(db: Database, approval_id: int) -> Approval | None:
    return APPROVALS.find_first(db, "approval.id = ?", approval_id)


def list_approvals_of_turn(db: Database, turn_id: str) -> list[Approval]:
    return APPROVALS.select(db, "approval.turn_id = ? ORDER BY approval.seq", turn_id)


def use_approval(db: Database, call: Call, now: int) -> bool:
    """Use up the approval of a call; return False without a valid one."""
    db.execute(
        "UPDATE approval SET state = 'used' WHERE turn_id = ? AND seq = ? AND state = 'granted'"
        " AND expires > ? AND args_hash ="
        " (SELECT args_hash FROM step WHERE step.turn_id = approval.turn_id"
        " AND step.seq = approval.seq)",
        (call.turn_id, call.seq, now),
    )
    return db.changes() == 1


def is_used(db: Database, call: Call) -> bool:
    sql = "SELECT 1 FROM approval WHERE turn_id = ? AND seq = ? AND state = 'used'"
    return db.execute(sql, (call.turn_id, call.seq)).get is not None


def list_pending_approvals(db: Database, now: int) -> list[Approval]:
    """Return the pending approvals that have not expired, oldest first."""
    where = "approval.state = 'pending' AND expires > ? ORDER BY approval.id"
    return APPROVALS.select(db, where, now)


def repeats_unknown_call(db: Database, call: Call, now: int) -> bool:
    """Return whether the same call of this chat ended as ``unknown`` within `REPEAT_WINDOW`."""
    here, there = (
        f"(SELECT {inbox.CHAT} FROM inbox WHERE turn_id = {step}.turn_id LIMIT 1)"
        for step in ("mine", "other")
    )
    found = db.execute(
        "SELECT 1 FROM step AS mine JOIN step AS other ON other.args_hash = mine.args_hash"
        " WHERE mine.turn_id = ? AND mine.seq = ? AND other.state = 'unknown'"
        f" AND other.t_end > ? AND {here} = {there} LIMIT 1",
        (call.turn_id, call.seq, now - REPEAT_WINDOW),
    ).get
    return found is not None
