"""Questions: the messages that ask for an approval, with buttons until it is decided.

Other messages of the daemon may have buttons too, each of which sends a chat command.

A button's data names the approval and has a digest of its call and chat, so that a button decides
only about what its message shows. A delivered message is edited once to show the outcome, by a row
of the outbox that begins as ``ph_sent``.
"""

import hashlib
import json

from orchestrator.channel_api import Choice
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals, outbox
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.outbox import Address, OutboxPart, OutboxRow

APPROVE, DENY = "Approve once", "Deny"
DIGEST = 24  # hexadecimal digits; with a code they fit the 64 bytes of a button


def ask_question(
    db: Database, approval: Approval, address: Address, text: str, again: int, now: int
) -> None:
    """Queue the question; ``again`` is how often it may be repeated when delivery is unknown.

    A webhook gets no question: it cannot answer, and the arguments may be private.
    """
    part = OutboxPart(text, again=again, approval_id=approval.id, notice=True)
    mode = outbox.STORED if address.channel == outbox.HOOKS else "direct"
    outbox.add_extra(db, None, address, (part,), mode, now)


def is_asked_in(db: Database, code: str, chat_key: str) -> bool:
    """Return whether a chat was sent the question with this code."""
    sql = (
        "SELECT 1 FROM approval JOIN outbox ON approval_id = approval.id"
        " WHERE code = ? AND outbox.chat_key = ?"
    )
    return db.execute(sql, (code, chat_key)).get is not None


def build_choices(db: Database, row: OutboxRow, now: int) -> tuple[Choice, ...]:
    """Return the buttons of a message; none if its question was answered meanwhile."""
    if row.choices is not None:
        return tuple(Choice(label, command) for label, command in json.loads(row.choices).items())
    found = None if row.approval_id is None else approvals.find_approval_by_id(db, row.approval_id)
    if found is None or not found.is_open(now):
        return ()
    data = f"{found.code}:{hash_question(found, row.chat_key)}"
    return Choice(APPROVE, f"y:{data}"), Choice(DENY, f"n:{data}")


def hash_question(approval: Approval, chat_key: str) -> str:
    """Hash what binds a button to its approval: the call's tool and arguments, and the chat."""
    bound = (str(approval.id), approval.code, approval.args_hash, chat_key)
    return hashlib.sha256("\0".join(bound).encode()).hexdigest()[:DIGEST]


def decide_question(
    db: Database,
    code: str,
    by: str,
    now: int,
    *,
    granted: bool,
    seen: str | None = None,
    note: str = "",
) -> Approval | None:
    """Grant or deny a pending approval, and say so where it was asked for.

    Returns None if none has this code, if it expired, or if ``seen``, the hash of the tool and
    arguments that were shown, differs. ``note`` is the reason given.
    """
    state = "granted" if granted else "denied"
    db.execute(
        "UPDATE approval SET state = ?, decided_at = ?, by_user = ?, note = ?"
        " WHERE code = ? AND state = 'pending' AND expires > ?"
        " AND args_hash = ifnull(?, args_hash)",
        (state, now, by, note or None, code, now, seen),
    )
    found = approvals.find_approval(db, code) if db.changes() else None
    if found is not None:
        call = f"{found.turn_id}:{found.seq}"
        audit.record_decision(db, by, f"{state} {found.tool}", call, now)
        show_outcome(db, found, now)
    return found


def withdraw_questions(db: Database, turn_id: str, now: int) -> None:
    """Deny the unused questions of an ending turn."""
    db.execute(
        "UPDATE approval SET state = 'denied', decided_at = ? WHERE turn_id = ?"
        " AND state IN('pending','granted')",
        (now, turn_id),
    )
    for approval in approvals.list_approvals_of_turn(db, turn_id):
        show_outcome(db, approval, now)


def show_outcome(db: Database, approval: Approval, now: int, pressed: str | None = None) -> None:
    """Show the outcome on the delivered message of a closed question, without buttons.

    ``pressed`` is the number of a second message with the question, if it was sent twice.
    """
    asked = "approval_id = ? AND mode = 'direct'"
    row = None if approval.is_open(now) else outbox.OUTBOX.find_first(db, asked, approval.id)
    if row is None:
        return
    told = "SELECT 1 FROM outbox WHERE approval_id = ? AND mode = 'edit' AND ph_id = ?"
    for message_id in dict.fromkeys((row.msg_id, pressed)):
        if message_id is not None and db.execute(told, (approval.id, message_id)).get is None:
            text = f"{row.body}\n\n{describe_outcome(approval, now)}"
            outbox.add_edit(db, row, message_id, text, now)


def is_offered(db: Database, chat_key: str, command: str) -> bool:
    """Return whether a chat was sent a button for this command, which a client may only claim."""
    rows = outbox.OUTBOX.select(db, "choices IS NOT NULL AND chat_key = ?", chat_key)
    return any(command in json.loads(row.choices or "{}").values() for row in rows)


def close_choices(db: Database, choices: str, outcome: str, now: int) -> None:
    """Show the outcome on the delivered messages with these buttons, which they lose."""
    asked = "choices = ? AND choices IS NOT NULL AND mode = 'direct' AND msg_id IS NOT NULL"
    for row in outbox.OUTBOX.select(db, asked, choices):
        outbox.add_edit(db, row, str(row.msg_id), f"{row.body}\n\n{outcome}", now)


def mark_delivered(db: Database, row: OutboxRow, message_id: str, now: int) -> OutboxRow | None:
    """Mark a message as delivered (`outbox.mark_delivered`), and return the chat's next row.

    If its question was closed meanwhile, queue the edit that says so.
    """
    following = outbox.mark_delivered(db, row, message_id, now)
    found = None if row.approval_id is None else approvals.find_approval_by_id(db, row.approval_id)
    if found is None:
        return following
    show_outcome(db, found, now)
    return outbox.find_next_row(db, row.chat_key)


def describe_outcome(approval: Approval, now: int) -> str:
    """Describe the outcome of a question, for its chat."""
    if approval.is_open(now):
        return "It is not decided yet."
    if approval.state == "pending":
        return "\N{HOURGLASS} It has expired without a decision."
    if approval.by_user is None:
        return "\N{CROSS MARK} It is not needed any more: the turn was stopped."
    if approval.state == "denied":
        return f"\N{CROSS MARK} Denied by `{approval.by_user}`."
    return f"\N{WHITE HEAVY CHECK MARK} Approved once by `{approval.by_user}`."
