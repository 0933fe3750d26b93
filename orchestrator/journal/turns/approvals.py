"""Approvals: an operator's decisions about calls.

``pending → granted → used``, or ``denied``. An approval is valid for one call of one turn with
exactly its arguments, until it expires. T4 uses it up in the same transaction, so that only one of
several processes can run the call (invariant 18).

One question may be about several calls of a step. Each has an approval of its own: that of the
first call, whose code answers for all, and others that were ``asked_with`` it.

Where: is an approval used up by one call?
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import orjson
from pydantic import Json

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.steps import Call

Sources: TypeAlias = dict[str, tuple[str, str, bool]]
LIFETIME = 86_400_000  # milliseconds: a day for the operator to answer
REPEAT_WINDOW = 86_400_000  # milliseconds in which repeating an unknown call needs an approval


@dataclass(frozen=True)
class Approval:
    """An approval of a call; ``expires`` in milliseconds, ``arguments`` as JSON.

    ``args_hash`` is the hash of the tool and arguments in question. ``asked_with`` is the id of the
    approval whose question covers this call too. ``sources`` tell where arguments are from, by
    their paths: kind, name, and whether they decide where the call goes. ``may_stand`` tells
    whether all calls alike may be approved with it.
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
    asked_with: int | None = None
    sources: Json[Sources] | None = None
    may_stand: bool = False

    def is_open(self, now: int) -> bool:
        return self.state == "pending" and self.expires > now


class QuestionDetails(NamedTuple):
    """What a new approval has besides its call; as in `Approval`."""

    sources: Sources | None = None
    may_stand: bool = False
    asked_with: int | None = None


NO_DETAILS = QuestionDetails()
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
    " by_user, note, asked_with, sources, may_stand",
)


def request_approval(
    db: Database,
    call: Call,
    reason: str,
    code: str,
    now: int,
    details: QuestionDetails = NO_DETAILS,
) -> tuple[Approval, bool]:
    """Return the approval of a call, created if necessary, and whether it is new.

    An approval that is ``asked_with`` another one has a ``code`` too, which answers no question.
    """
    sources = orjson.dumps(details.sources).decode() if details.sources else None
    db.execute(
        "INSERT INTO approval(code, turn_id, seq, args_hash, reason, state, asked_at, expires,"
        " sources, may_stand, asked_with)"
        " VALUES(?1, ?2, ?3, (SELECT args_hash FROM step WHERE turn_id = ?2 AND seq = ?3),"
        " ?4, 'pending', ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        (
            *(code, call.turn_id, call.seq, reason, now, now + LIFETIME),
            *(sources, details.may_stand, details.asked_with),
        ),
    )
    new = db.changes() == 1
    found = find_approval_of_call(db, call)
    assert found is not None  # noqa: S101 - it was inserted here or before
    return found, new


def find_approval_of_call(db: Database, call: Call) -> Approval | None:
    # Most calls have none, and this takes a fraction of the join.
    sql = "SELECT 1 FROM approval WHERE turn_id = ? AND seq = ?"
    if db.execute(sql, (call.turn_id, call.seq)).get is None:
        return None
    where = "approval.turn_id = ? AND approval.seq = ?"
    return APPROVALS.find_first(db, where, call.turn_id, call.seq)


def find_approval(db: Database, code: str) -> Approval | None:
    """Return the approval with the code of a question."""
    return APPROVALS.find_first(db, "code = ? AND asked_with IS NULL", code)


def find_approval_by_id(db: Database, approval_id: int) -> Approval | None:
    return APPROVALS.find_first(db, "approval.id = ?", approval_id)


def load_question(db: Database, approval: Approval) -> tuple[Approval, ...]:
    """Return the approvals that one question is about, in the order of their calls.

    That which has the question's code comes first.
    """
    lead = approval.id if approval.asked_with is None else approval.asked_with
    where = "approval.id = ? OR asked_with = ? ORDER BY asked_with IS NOT NULL, approval.seq"
    return tuple(APPROVALS.select(db, where, lead, lead))


def name_calls(asked: Sequence[Approval]) -> str:
    """Name the calls of a question by their tools: ``send_mail (3), pay``."""
    tools = Counter(one.tool for one in asked)
    return ", ".join(f"{tool} ({n})" if n > 1 else tool for tool, n in tools.items())


def join_hashes(hashes: Sequence[str]) -> str:
    """Return the hash of exactly the calls of a question, whose own hashes these are."""
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("\0".join(hashes).encode()).hexdigest()


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
    """Return the open questions by the approvals with their codes, oldest first."""
    where = "approval.state = 'pending' AND expires > ? AND asked_with IS NULL ORDER BY approval.id"
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
