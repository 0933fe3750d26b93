"""What a message costs in a journal that has lived: as much as in a new one."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import apsw
from fakes.journal import sqlite
from fakes.lived import Life

from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.memory import playbooks

FEW, MANY = 5, 40  # lives that were lived before, of agents and chats of their own
STEPS = "SQLITE_STMTSTATUS_VM_STEP"
# The full-text indexes, which merge what has piled up and know the words of all agents; chats that
# were let in; dead letters, which wait for the operator.
# Rows that stay, and what happens once: a chat moves to another id.
# A forgotten fact is looked for in all that the agent was shown since it was stored.
NEVER_OVER = (
    "'main'.",
    "fact_words",
    "pairing",
    "'dead'",
    "chat_move",
    ":old ||",
    "SET scope",
    ":since",
    ">= :message",
    ">= :outbox",
)


def test_message_takes_no_more_steps_after_many_others(tmp_path: Path) -> None:
    """No statement, also of views of the newest turns, walks through rows of ended work."""
    with sqlite(tmp_path) as db:
        lives = [Life(db, f"a{number}", str(number), f"n{number}") for number in range(MANY)]
        for life in lives[:FEW]:
            life.live()
        before = steps(db, lives[FEW])
        for life in lives[FEW + 1 : -1]:
            life.live()
        after = steps(db, lives[-1])
    grown = {sql for sql, took in after.items() if took > 2 * before[sql]}
    assert {sql for sql in grown if not any(word in sql for word in NEVER_OVER)} == set()


def steps(db: apsw.Connection, life: Life) -> dict[str, int]:
    """Instructions of SQLite's virtual machine for one more life, by statement."""
    taken: dict[str, int] = defaultdict(int)

    def count(event: dict[str, Any]) -> None:
        taken[event["sql"]] += event["stmt_status"][STEPS]

    db.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)
    life.live()
    recent_turns.list_recent_turns(db, 5)
    recent_turns.count_messages_by_state(db)
    playbooks.list_missing_tools(db, 5)
    db.trace_v2(0, None)
    return taken
