"""Questions: the messages that ask for an approval, with buttons until it is decided.

Other messages of the daemon may have buttons too, each of which sends a chat command.

A button's data names the approval and has a digest of its calls and chat, so that a button decides
only about what its message shows. A delivered message is edited once to show the outcome, by a row
of the outbox that begins as ``ph_sent``.
"""

import hashlib
import json
from collections.abc import Sequence

from orchestrator.channel_api import Choice
from orchestrator.errors import OrchestratorError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals, outbox, pauses
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.outbox import Address, OutboxPart, OutboxRow

APPROVE, APPROVE_ALL, DENY = "Approve once", "Approve these {n}", "Deny"
HELD = "nothing was decided, as agent '{agent}' cannot go on now: {why}"
DIGEST = 24  # hexadecimal digits; with a code they fit the 64 bytes of a button


def ask_question(
    db: Database,
    approval: Approval,
    address: Address,
    text: str,
    again: int,
    now: int,
    choices: str | None = None,
) -> None:
    """Queue the question; ``again`` is how often it may be repeated when delivery is unknown.

    ``choices`` are buttons besides those of the decision, as `OutboxPart` has them. A webhook gets
    no question: it cannot answer, and the arguments may be private.
    """
    part = OutboxPart(text, again=again, approval_id=approval.id, notice=True, choices=choices)
    mode = outbox.STORED if address.channel == outbox.HOOKS else "direct"
    outbox.add_extra(db, None, address, (part,), mode, now)


def is_asked_in(db: Database, code: str, chat_key: str) -> bool:
    """Return whether a chat was sent the question with this code."""
    sql = (
        "SELECT 1 FROM approval JOIN outbox ON approval_id = approval.id"
        " WHERE code = ? AND outbox.chat_key = ?"
    )
    return db.execute(sql, (code, chat_key)).get is not None


def find_asking_agent(db: Database, code: str) -> str | None:
    """Return the agent whose call has this code; None if no call has it."""
    approval = approvals.find_approval(db, code)
    return None if approval is None else approval.agent_id


def build_choices(db: Database, row: OutboxRow, now: int) -> tuple[Choice, ...]:
    """Return the buttons of a message; none if its question was answered meanwhile."""
    others = tuple(Choice(*item) for item in json.loads(row.choices or "{}").items())
    if row.approval_id is None:
        return others
    found = approvals.find_approval_by_id(db, row.approval_id)
    if found is None or not found.is_open(now):
        return ()
    asked = approvals.load_question(db, found)
    data = f"{found.code}:{hash_question(asked, row.chat_key)}"
    label = APPROVE if len(asked) == 1 else APPROVE_ALL.format(n=len(asked))
    return Choice(label, f"y:{data}"), Choice(DENY, f"n:{data}"), *others


def hash_question(asked: Sequence[Approval], chat_key: str) -> str:
    """Hash what binds a button to its question: the calls with their arguments, and the chat."""
    bound = (str(asked[0].id), asked[0].code, hash_calls(asked), chat_key)
    return hashlib.sha256("\0".join(bound).encode()).hexdigest()[:DIGEST]


def hash_calls(asked: Sequence[Approval]) -> str:
    """Hash exactly the calls of a question, for a decision about what was seen."""
    return approvals.join_hashes([one.args_hash for one in asked])


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
    """Grant or deny all calls of an open question, and say so where it was asked.

    Returns None if none has this code, if it expired, or if ``seen``, the hash of the calls that
    were shown (`hash_calls`), differs. ``note`` is the reason given.

    Raises:
        OrchestratorError: the agent is held (`pauses.find_hold`), and the decision would be lost.
    """
    lead = approvals.find_approval(db, code)
    asked = () if lead is None else approvals.load_question(db, lead)
    if not asked or not asked[0].is_open(now) or seen not in (None, hash_calls(asked)):
        return None
    held = pauses.find_hold(db, asked[0].agent_id)
    if held is not None:
        raise OrchestratorError(HELD.format(agent=asked[0].agent_id, why=held))
    state = "granted" if granted else "denied"
    db.execute(
        "UPDATE approval SET state = ?, decided_at = ?, by_user = ?, note = ?"
        " WHERE (id = ? OR asked_with = ?) AND state = 'pending' AND expires > ?",
        (state, now, by, note or None, asked[0].id, asked[0].id, now),
    )
    found = approvals.find_approval(db, code) if db.changes() else None
    if found is not None:
        call = f"{found.turn_id}:{found.seq}"
        audit.record_decision(db, by, f"{state} {approvals.name_calls(asked)}", call, now)
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
    if approval.asked_with is not None:
        return  # the question shows its first call's outcome, which is that of all
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


def name_question(db: Database, approval: Approval) -> str:
    """Name the calls that the question of an approval is about."""
    return approvals.name_calls(approvals.load_question(db, approval))


def name_open_question(db: Database, code: str, now: int) -> str | None:
    """Name the calls of the question with this code; None if it is not open."""
    found = approvals.find_approval(db, code)
    return name_question(db, found) if found is not None and found.is_open(now) else None
