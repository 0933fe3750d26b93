"""Dead letters: messages given up because they kept ending their agent's process, or the daemon.

An operator puts one back into its chat's queue, for a new turn, or drops it for good. Tasks of
subagents are excluded: the parent receives their failure.
"""

from orchestrator import chat_texts
from orchestrator.errors import UnknownNameError
from orchestrator.journal.db import audit
from orchestrator.journal.db.crash_record import MAX_DEATHS
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, outbox, turns
from orchestrator.journal.turns.inbox import INBOX, SUBAGENT, InboxRow

DEAD = f"state = 'dead' AND kind <> '{SUBAGENT}'"
DROPPED = "dropped by the operator"


def every(db: Database) -> list[InboxRow]:
    return INBOX.select(db, f"{DEAD} ORDER BY id")


def retry(db: Database, row_id: int, now: int) -> None:
    """Make a dead message new again and reset its count of process deaths.

    Raises:
        UnknownNameError: the message is not dead.
    """
    db.execute(
        "UPDATE inbox SET state = 'new', claims = 0, turn_id = NULL, after_step = NULL,"
        f" ended_at = NULL, error = NULL WHERE id = ? AND {DEAD}",
        (row_id,),
    )
    _decided(db, row_id, "dead letter put back", now)


def drop(db: Database, row_id: int, now: int) -> None:
    """Cancel a dead message for good; its trace is kept.

    Raises:
        UnknownNameError: the message is not dead.
    """
    inbox.end(db, f"id = ? AND {DEAD}", row_id, "cancelled", DROPPED, now)
    _decided(db, row_id, "dead letter dropped", now)


def count_fault(db: Database, chat: str, problem: str, now: int) -> bool:
    """Count a failure to open a turn for a chat's next message; the third gives it up.

    Return whether it did.
    """
    if turns.open_in(db, chat) is not None or (row := inbox.oldest_new(db, chat)) is None:
        return False
    db.execute("UPDATE inbox SET claims = claims + 1 WHERE id = ?", (row.id,))
    return row.claims + 1 >= MAX_DEATHS and give_up_next(db, chat, problem, now)


def give_up_next(db: Database, chat: str, problem: str, now: int) -> bool:
    """Give up a chat's next message, if it has one without a turn; return whether it had.

    The chat is told. Tasks, work of subagents and programs' requests are refused instead, because
    their callers wait for an end.
    """
    row = inbox.oldest_new(db, chat)
    if row is None:
        return False
    if row.kind != inbox.HOOK and (row.internal or row.kind == inbox.REQUEST):
        inbox.refuse(db, row, problem, None, now)
        return True
    inbox.end(db, "id = ?", row.id, "dead", problem, now)
    db.execute("UPDATE inbox SET claims = max(claims, ?) WHERE id = ?", (MAX_DEATHS, row.id))
    audit.record(db, "dispatcher", f"dead letter: {problem}", f"inbox {row.id}", now)
    notice = chat_texts.POISON.format(deaths=MAX_DEATHS, turn=f"inbox {row.id}")
    outbox.add_notice(db, row.address(), notice, now)
    return True


def _decided(db: Database, row_id: int, act: str, now: int) -> None:
    if db.changes() != 1:
        raise UnknownNameError(
            f"message {row_id} is not a dead letter; see 'orchestrator dlq list'"
        )
    audit.record(db, "operator", act, f"inbox {row_id}", now)
