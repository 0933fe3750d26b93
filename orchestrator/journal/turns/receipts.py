"""Receipts: what the answer of a turn claims to have done, and what of it the journal shows.

A receipt is stored in the transaction that ends the turn, and says nothing new later, except that a
person may confirm a claim.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import orjson

from orchestrator.errors import UnknownNameError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from thinker.protocol.messages import Frozen
from thinker.protocol.names import format_turn_name

# Whether calls show what is claimed: they do, none does, one may have, one has yet to end.
ClaimVerdict = Literal["shown", "false", "unconfirmed", "not_yet"]
WORDS: dict[ClaimVerdict, str] = {
    "shown": "shown",
    "false": "not done",
    "unconfirmed": "not confirmed",
    "not_yet": "not done yet",
}


class EvidentCall(Frozen):
    """A call that shows what a claim says, or may do so."""

    turn_id: str
    seq: int
    tool: str


class ReceiptClaim(Frozen):
    """A sentence of an answer that reports an effect, of the ``kind`` send, write, pay or the like.

    ``note`` says why it is not shown. ``confirmed_by`` is the person who says that it is true.
    """

    text: str
    kind: str
    verdict: ClaimVerdict
    note: str = ""
    calls: tuple[EvidentCall, ...] = ()
    confirmed_by: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether the calls do not show it and no person has confirmed it."""
        return self.verdict != "shown" and not self.confirmed_by

    def describe_verdict(self) -> str:
        """Return the verdict in words, with the calls or the reason."""
        if self.confirmed_by:
            return f"true, says {self.confirmed_by}"
        tools = ", ".join(dict.fromkeys(call.tool for call in self.calls))
        reasons = [one for one in (self.note, tools) if one]
        return WORDS[self.verdict] + (f": {'; '.join(reasons)}" if reasons else "")


class AnswerReceipt(Frozen):
    """The claims of an answer, in its order."""

    claims: tuple[ReceiptClaim, ...]


class JudgedAnswer(NamedTuple):
    """The receipt of an answer, and lines to add below it; ``error`` fails what a task reports."""

    receipt: AnswerReceipt
    marks: tuple[str, ...] = ()
    error: str | None = None


class ClaimCounts(NamedTuple):
    """How many claims of answers were not shown, and how many of these people have confirmed."""

    doubted: int
    confirmed: int


def store_receipt(db: Database, turn_id: str, receipt: AnswerReceipt) -> None:
    body = receipt.model_dump_json(exclude_defaults=True)
    db.execute("UPDATE turn SET receipt = ? WHERE id = ?", (body, turn_id))


def load_receipt(db: Database, turn_id: str) -> AnswerReceipt | None:
    """Return the receipt of a turn; None if its answer claims nothing."""
    return load_receipts(db, [turn_id]).get(turn_id)


def load_receipts(db: Database, turn_ids: Sequence[str]) -> dict[str, AnswerReceipt]:
    """Return the receipts of turns by their ids, without those whose answers claim nothing."""
    rows = db.execute(
        "SELECT id, receipt FROM turn WHERE id IN(SELECT value FROM json_each(?))"
        " AND receipt IS NOT NULL",
        (orjson.dumps(turn_ids).decode(),),
    )
    return {str(turn): AnswerReceipt.model_validate_json(str(body)) for turn, body in rows}


def confirm_claim(db: Database, turn_id: str, number: int, by: str, now: int) -> None:
    """Store that a person says a claim is true; the first claim has the ``number`` 1.

    Raises:
        UnknownNameError: the turn has no such claim, or its calls show it.
    """
    receipt, name = load_receipt(db, turn_id), format_turn_name(turn_id)
    claims = [] if receipt is None else list(receipt.claims)
    if not 1 <= number <= len(claims):
        known = f"its receipt has {len(claims)}" if claims else "its answer has no receipt"
        raise UnknownNameError(f"turn {name} has no claim {number}: {known}")
    claim = claims[number - 1]
    if claim.verdict == "shown":
        raise UnknownNameError(f"claim {number} of turn {name} is shown by its calls already")
    claims[number - 1] = claim.model_copy(update={"confirmed_by": by})
    store_receipt(db, turn_id, AnswerReceipt(claims=tuple(claims)))
    audit.record_decision(db, by, "claim confirmed", f"claim {number} of turn {turn_id}", now)


def count_claims(db: Database, since: int) -> ClaimCounts:
    """Count the doubted claims of turns that began since a time (milliseconds)."""
    sql = "SELECT receipt FROM turn WHERE receipt IS NOT NULL AND started_at >= ?"
    found = [AnswerReceipt.model_validate_json(str(body)) for (body,) in db.execute(sql, (since,))]
    doubted = [claim for one in found for claim in one.claims if claim.verdict != "shown"]
    return ClaimCounts(len(doubted), sum(bool(claim.confirmed_by) for claim in doubted))
