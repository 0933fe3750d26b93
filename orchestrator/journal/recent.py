"""The newest turns, for whoever looks at what the daemon does."""

from dataclasses import dataclass

import apsw

from orchestrator.journal import steps


@dataclass(frozen=True)
class Glance:
    """A turn in a list; ``ms`` from its start to its reply, None while it is open."""

    id: str
    agent_id: str
    chat_key: str
    state: str
    stop_reason: str | None
    tools: tuple[str, ...]
    ms: int | None


def turns(db: apsw.Connection, limit: int) -> list[Glance]:
    """The newest first."""
    rows = db.execute(
        "SELECT id, agent_id, chat_key, state, stop_reason, ended_at - started_at FROM turn"
        " ORDER BY started_at DESC, rowid DESC LIMIT ?",
        (limit,),
    )
    return [
        Glance(turn, agent, chat, state, stop, steps.tools_of(db, turn), ms)
        for turn, agent, chat, state, stop, ms in list(rows)
    ]
