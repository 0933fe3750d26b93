"""Dead letters: messages given up because they kept ending their agent's process, or the daemon.

An operator puts one back into its chat's queue, for a new turn, or drops it permanently. Tasks of
subagents are excluded: the parent receives their failure.

Where: is a dead letter retried or dropped?
"""

from orchestrator import chat_texts
from orchestrator.errors import UnknownNameError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.writer import MAX_DEATHS
from orchestrator.journal.turns import inbox, outbox, turns
from orchestrator.journal.turns.inbox import INBOX, SUBAGENT, InboxRow

DEAD = f"state = 'dead' AND kind <> '{SUBAGENT}'"
DROPPED = "dropped by the operator"


def list_dead_letters(db: Database) -> list[InboxRow]:
    return INBOX.select(db, f"{DEAD} ORDER BY id")


def retry_dead_letter(db: Database, row_id: int, now: int) -> None:
    """Make a dead message new again and reset its count of process deaths.

    Raises:
        UnknownNameError: the message is not dead.
    """
    db.execute(
        "UPDATE inbox SET state = 'new', claims = 0, turn_id = NULL, after_step = NULL,"
        f" ended_at = NULL, error = NULL WHERE id = ? AND {DEAD}",
        (row_id,),
    )
    _audit_decision(db, row_id, "dead letter put back", now)


def drop_dead_letter(db: Database, row_id: int, now: int) -> None:
    """Cancel a dead message permanently; its trace is kept.

    Raises:
        UnknownNameError: the message is not dead.
    """
    inbox.end_messages(db, f"id = ? AND {DEAD}", row_id, "cancelled", DROPPED, now)
    _audit_decision(db, row_id, "dead letter dropped", now)


def count_fault(db: Database, chat: str, problem: str, now: int) -> bool:
    """Count a failure to open a turn for a chat's next message; give up on it at the third.

    Return whether it did.
    """
    if (
        turns.find_open_turn(db, chat) is not None
        or (row := inbox.find_oldest_new(db, chat)) is None
    ):
        return False
    db.execute("UPDATE inbox SET claims = claims + 1 WHERE id = ?", (row.id,))
    return row.claims + 1 >= MAX_DEATHS and give_up_next(db, chat, problem, now)


def give_up_next(db: Database, chat: str, problem: str, now: int) -> bool:
    """Give up on a chat's next message that has no turn; return whether there was one.

    The chat gets a notice. Tasks, work of subagents and programs' requests are refused instead,
    because their callers wait for an end.
    """
    row = inbox.find_oldest_new(db, chat)
    if row is None:
        return False
    if row.kind != inbox.HOOK and (row.is_internal or row.kind == inbox.REQUEST):
        inbox.refuse_message(db, row, problem, None, now)
        return True
    inbox.end_messages(db, "id = ?", row.id, "dead", problem, now)
    db.execute("UPDATE inbox SET claims = max(claims, ?) WHERE id = ?", (MAX_DEATHS, row.id))
    audit.record_decision(db, "dispatcher", f"dead letter: {problem}", f"inbox {row.id}", now)
    notice = chat_texts.POISON.format(deaths=MAX_DEATHS, turn=f"inbox {row.id}")
    outbox.add_notice(db, row.build_address(), notice, now)
    return True


def _audit_decision(db: Database, row_id: int, act: str, now: int) -> None:
    if db.changes() != 1:
        raise UnknownNameError(
            f"message {row_id} is not a dead letter; see 'orchestrator dlq list'"
        )
    audit.record_decision(db, "operator", act, f"inbox {row_id}", now)
