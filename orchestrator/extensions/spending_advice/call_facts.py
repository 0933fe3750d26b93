"""What advice on savings is computed from: the calls of an agent, and the tools it was offered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns.prompt_records import TOOLS

DAYS = 30
DAY = 86_400_000  # milliseconds
MAX_CALLS = 3_000  # newest calls that are looked at
TOKEN = 4  # characters, on average
SINCE = "turn_id IN(SELECT turn_id FROM model_call WHERE agent_id = ? AND at >= ?)"


@dataclass(frozen=True)
class CallFact:
    """One model call of a turn; ``at`` in milliseconds since the epoch."""

    turn_id: str
    chat_key: str
    model: str
    prompt: int
    completion: int
    cached: int
    usd: float
    at: int


class AgentUse(NamedTuple):
    """An agent's use in the last `DAYS` days: what it cost, and its newest calls in order.

    ``unused`` has the tools that were offered and never called, with the tokens of each.
    """

    agent_id: str
    month_usd: float
    calls: Sequence[CallFact]
    unused: Mapping[str, int]


CALLS = Rows(
    CallFact,
    "model_call JOIN turn ON turn.id = turn_id",
    "turn_id, chat_key, model, prompt, completion, cached, usd, at",
)


def load_agent_use(db: Database, agent_id: str, now: int) -> AgentUse:
    """Read what an agent used in the last days, for turns, at known prices."""
    since = now - DAYS * DAY
    sql = "SELECT coalesce(sum(usd), 0.0) FROM model_call WHERE agent_id = ? AND at >= ?"
    usd = float(db.execute(sql, (agent_id, since)).get)
    calls = CALLS.select(
        db,
        "model_call.agent_id = ? AND at >= ? AND usd IS NOT NULL AND model_call.state = 'settled'"
        " AND purpose = 'turn' ORDER BY at DESC LIMIT ?",
        agent_id,
        since,
        MAX_CALLS,
    )
    return AgentUse(agent_id, usd, calls[::-1], _find_unused_tools(db, agent_id, since))


def _find_unused_tools(db: Database, agent_id: str, since: int) -> dict[str, int]:
    sql = (
        "SELECT DISTINCT tools, common FROM turn_prompt"
        f" WHERE {SINCE} AND tools IS NOT NULL AND common IS NOT NULL"
    )
    offered: dict[str, int] = {}
    for tools, common in db.execute(sql, (agent_id, since)).fetchall():
        specs, shared = _read_part(db, tools), orjson.loads(_read_part(db, common))
        weights = {
            spec.name: len(spec.model_dump_json(exclude_defaults=True)) // TOKEN
            for spec in TOOLS.validate_json(specs)
        }
        offered |= {name: weights[name] for name in shared.get("tools", ()) if name in weights}
    called = f"SELECT DISTINCT name FROM step WHERE kind = 'tool' AND {SINCE}"
    used = {str(name) for (name,) in db.execute(called, (agent_id, since))}
    return {name: weight for name, weight in offered.items() if name not in used}


def _read_part(db: Database, digest: str) -> str:
    return str(db.execute("SELECT body FROM prompt_part WHERE digest = ?", (digest,)).get)
