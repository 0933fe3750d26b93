"""People's decisions in the audit log, each once: an act of the page together with its effect."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from orchestrator.control import editing, protocol
from orchestrator.extensions.page.setup_answers import BUDGET_EXTEND, PAIR_REFUSE, RULES_ADD
from orchestrator.journal.db.database import Database

MACHINES = ("admission", "budget", "dispatcher", "pins", "policy", "router")  # who are no people
MAX_ENTRIES = 1000  # newest entries of the audit log
NEAR = 4  # entries between an act of the page and its effect
LATE = 60_000  # milliseconds between them
NOT_DONE = " not done"  # ends the act of an entry which says that the one before it failed
# How the entry begins that an act of the page leaves besides its own.
EFFECTS: Mapping[str, tuple[str, ...]] = {
    protocol.APPROVAL_DECIDE: ("granted ", "denied "),
    protocol.PAIR_APPROVE: ("pairing approved",),
    protocol.PAIR_REVOKE: ("pairing revoked",),
    protocol.PAIR_ROLE: ("pairing may ",),
    PAIR_REFUSE: ("pairing refused",),
    BUDGET_EXTEND: ("may spend ",),
    protocol.TOOL_APPROVE: ("approved a tool",),
    RULES_ADD: ("granted ",),
    "rules/revoke": ("ended rule ",),
    "calls/settle": ("call happened", "call did not happen"),
    protocol.DLQ_RETRY: ("dead letter put back",),
    protocol.DLQ_DROP: ("dead letter dropped",),
    protocol.AGENT_PAUSE: ("paused: ",),
    protocol.AGENT_RESUME: ("resumed",),
    protocol.TASK_RUN: ("ran",),
    protocol.TASK_ENABLE: ("enabled",),
    protocol.TASK_DISABLE: ("disabled",),
    "memory/edit": ("edited a fact",),
    "memory/undo": ("undid the change of a fact",),
    "memory/forget": ("forgot a fact",),
    editing.FILE_SAVE: ("scheduled", "edited", "cancelled", "stored", "deleted"),
    editing.FILE_UNDO: ("scheduled", "edited", "cancelled", "stored", "deleted"),
}


class AuditEntry(NamedTuple):
    """A decision; ``at`` in milliseconds. One about a call has its chat, and why it was asked."""

    at: int
    actor: str
    act: str
    subject: str
    chat: str = ""
    reason: str = ""


def list_recent_decisions(db: Database, limit: int) -> list[AuditEntry]:
    """Return people's newest decisions in the audit log, each once."""
    rows = db.execute(
        "SELECT at, actor, act, object FROM (SELECT * FROM audit ORDER BY id DESC LIMIT ?)"
        " AS newest WHERE actor NOT IN (SELECT value FROM json_each(?))"
        " AND substr(act, 1, 4) NOT IN('web:','web/') ORDER BY id DESC LIMIT ?",
        (MAX_ENTRIES, orjson.dumps(MACHINES).decode(), 2 * limit),
    )
    entries = [AuditEntry(int(at), str(actor), str(act), str(of)) for at, actor, act, of in rows]
    return [_add_call(db, entry) for entry in join_effects(entries)[:limit]]


def join_effects(entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    """Join acts of the page with what they did, or with their failure; newest first."""
    joined: list[AuditEntry] = []
    taken: set[int] = set()
    for at, entry in enumerate(entries):
        if at in taken:
            continue
        cause = next(
            (
                place
                for place in range(at + 1, min(at + 1 + NEAR, len(entries)))
                if place not in taken and _is_effect(entry, entries[place])
            ),
            None,
        )
        if cause is not None:
            taken.add(cause)
            entry = entry._replace(actor=entries[cause].actor)  # noqa: PLW2901 - with its cause
        joined.append(entry)
    return joined


def _is_effect(entry: AuditEntry, cause: AuditEntry) -> bool:
    if entry.actor not in (cause.actor, "operator") or entry.at - cause.at > LATE:
        return False
    if entry.act == f"{cause.act}{NOT_DONE}":
        return entry.subject == cause.subject
    return entry.act.startswith(EFFECTS.get(cause.act, ())) and cause.act in EFFECTS


def _add_call(db: Database, entry: AuditEntry) -> AuditEntry:
    turn, _, seq = entry.subject.rpartition(":")
    if not entry.act.startswith(EFFECTS[protocol.APPROVAL_DECIDE]) or not seq.isdigit():
        return entry
    row = db.execute(
        "SELECT turn.chat_key, approval.reason, approval.note FROM approval"
        " JOIN turn ON turn.id = approval.turn_id WHERE turn_id = ? AND seq = ?"
        " ORDER BY approval.id DESC LIMIT 1",
        (turn, int(seq)),
    ).fetchone()
    return entry if row is None else entry._replace(chat=str(row[0]), reason=str(row[2] or row[1]))
