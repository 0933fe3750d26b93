"""Questions: the messages that ask for an approval, with buttons until it is decided.

A button's data names the approval and has a digest of its call and chat, so that no button decides
about anything else than what its message shows. A message that was delivered is edited once to tell
the outcome, by a row of the outbox that begins as ``ph_sent``: what is shown is put in place of it.
"""

import hashlib

from orchestrator.channel_api import Choice
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals, outbox
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.outbox import Address, OutboxRow, Part

APPROVE, DENY = "Approve once", "Deny"
DIGEST = 24  # hexadecimal digits; with a code they fit the 64 bytes of a button


def ask(
    db: Database, approval: Approval, address: Address, text: str, again: int, now: int
) -> None:
    """Queue the question; ``again`` is how often it may be repeated when delivery is unknown.

    A webhook is not told: it cannot answer, and the arguments may be what must not go out.
    """
    part = Part(text, again=again, approval_id=approval.id)
    mode = outbox.STORED if address.channel == outbox.HOOKS else "direct"
    outbox.add_extra(db, None, address, (part,), mode, now)


def choices(db: Database, row: OutboxRow, now: int) -> tuple[Choice, ...]:
    """Return the buttons of a message; none if its question has been answered by now."""
    found = None if row.approval_id is None else approvals.by_id(db, row.approval_id)
    if found is None or not found.open(now):
        return ()
    data = f"{found.code}:{digest(found, row.chat_key)}"
    return Choice(APPROVE, f"y:{data}"), Choice(DENY, f"n:{data}")


def digest(approval: Approval, chat_key: str) -> str:
    """Return what binds a button to its approval, the call's tool and arguments, and a chat."""
    bound = (str(approval.id), approval.code, approval.args_hash, chat_key)
    return hashlib.sha256("\0".join(bound).encode()).hexdigest()[:DIGEST]


def decide(
    db: Database,
    code: str,
    by: str,
    now: int,
    *,
    granted: bool,
    seen: str | None = None,
    note: str = "",
) -> Approval | None:
    """Answer an open question as `approvals.decide` does, and tell so where it was asked."""
    found = approvals.decide(db, code, by, now, granted=granted, seen=seen, note=note)
    if found is not None:
        settle(db, found, now)
    return found


def withdraw(db: Database, turn_id: str, now: int) -> None:
    """Deny what a turn that ends has asked for and not used."""
    db.execute(
        "UPDATE approval SET state = 'denied', decided_at = ? WHERE turn_id = ?"
        " AND state IN('pending','granted')",
        (now, turn_id),
    )
    for approval in approvals.of_turn(db, turn_id):
        settle(db, approval, now)


def settle(db: Database, approval: Approval, now: int, pressed: str | None = None) -> None:
    """Have the delivered message of a closed question tell its outcome, without buttons.

    ``pressed`` is the number of another message that shows it, since it was sent twice.
    """
    asked = "approval_id = ? AND mode = 'direct'"
    row = None if approval.open(now) else outbox.OUTBOX.first(db, asked, approval.id)
    if row is None:
        return
    told = "SELECT 1 FROM outbox WHERE approval_id = ? AND mode = 'edit' AND ph_id = ?"
    for message_id in dict.fromkeys((row.msg_id, pressed)):
        if message_id is not None and db.execute(told, (approval.id, message_id)).get is None:
            text = f"{row.body}\n\n{outcome(approval, now)}"
            outbox.add_edit(db, row, message_id, text, now)


def delivered(db: Database, row: OutboxRow, message_id: str, now: int) -> None:
    """Store that a message was accepted (T8); a question may have been closed meanwhile."""
    outbox.delivered(db, row.id, message_id, now)
    found = None if row.approval_id is None else approvals.by_id(db, row.approval_id)
    if found is not None:
        settle(db, found, now)


def outcome(approval: Approval, now: int) -> str:
    """Return the outcome of a question as its chat reads it."""
    if approval.open(now):
        return "It is not decided yet."
    if approval.state == "pending":
        return "\N{HOURGLASS} It has expired without a decision."
    if approval.by_user is None:
        return "\N{CROSS MARK} It is not needed any more: the turn was stopped."
    if approval.state == "denied":
        return f"\N{CROSS MARK} Denied by `{approval.by_user}`."
    return f"\N{WHITE HEAVY CHECK MARK} Approved once by `{approval.by_user}`."
