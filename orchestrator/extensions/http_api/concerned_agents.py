"""Which agent a request of an operator concerns, and so which node answers it."""

from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import trace
from orchestrator.journal.turns import questions

OF_TURN = "SELECT agent_id FROM turn WHERE id = ?"
OF_TASK = "SELECT agent_id FROM task WHERE id = ?"
OF_MESSAGE = "SELECT coalesce(agent_id, target) FROM inbox WHERE id = ?"
BY_ROW = {
    protocol.DLQ_RETRY: OF_MESSAGE,
    protocol.DLQ_DROP: OF_MESSAGE,
    protocol.TASK_RUN: OF_TASK,
    protocol.TASK_ENABLE: OF_TASK,
    protocol.TASK_DISABLE: OF_TASK,
}
# Parameters that may lead to an agent.
NAMING = frozenset({"agentId", "turnId", "turn", "code", "id"})
MAX_NAME = 200  # characters of a name that is looked up


def may_concern_agent(params: JsonValue) -> bool:
    """Return whether `find_concerned_agent` has anything to look up; a status needs no journal."""
    return isinstance(params, dict) and not NAMING.isdisjoint(params)


def find_concerned_agent(db: Database, method: str, params: JsonValue) -> str | None:
    """Return the agent that a request names, or whose call, turn or row it names; None if none."""
    if not isinstance(params, dict):
        return None
    agent_id, turn_id, code = (_read_name(params, name) for name in ("agentId", "turnId", "code"))
    if agent_id or turn_id:
        return agent_id or _load_agent(db, OF_TURN, turn_id)
    if code:
        return questions.find_asking_agent(db, code)
    turn = _read_name(params, "turn")
    if found := trace.list_turns_named(db, turn):
        exact = turn if turn in found else found[0] if len(found) == 1 else ""
        return _load_agent(db, OF_TURN, exact) if exact else None
    row = params.get("id")
    if method in BY_ROW and isinstance(row, int) and 0 < row < 2**63:
        return _load_agent(db, BY_ROW[method], row)
    return None


def _read_name(params: dict[str, JsonValue], name: str) -> str:
    value = params.get(name)
    return value if isinstance(value, str) and len(value) <= MAX_NAME else ""


def _load_agent(db: Database, statement: str, key: str | int) -> str | None:
    found: str | None = db.execute(statement, (key,)).get
    return found
