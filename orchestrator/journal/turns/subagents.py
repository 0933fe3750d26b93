"""Subagents: processes that work for a call of an agent's turn.

A run of a subagent is a message in its own queue and becomes a turn like any other. It belongs to
the call that began it, which finds it again after a crash instead of starting twice. If the call
does not wait, the transaction that ends the work puts the result into the chat as a message.
"""

from dataclasses import dataclass

from pydantic import Field, Json

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import inbox, internal_messages, steps, taint
from orchestrator.journal.turns.internal_messages import InternalMessage
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.taint import Taint
from orchestrator.placement import SUBAGENTS
from thinker.protocol.messages import Frozen

QUEUE = SUBAGENTS
MAX_RUNS = 5  # concurrent runs of an agent
OPEN = "inbox.state IN('new','claimed')"
REPORTED = 30_000  # characters of a result in a message, as a worker shows them of a tool's
RETURNED = "Subagent (reference: {id}) has returned the following result:\n\n{result}"
FAILED = "Subagent (reference: {id}) has reported a failure:\n\n{result}"


class SubagentSpec(Frozen):
    """The settings of a subagent.

    Attributes:
        allowed_tools: globs of the parent's tools that it may use; none: all of them.
        denied_tools: globs of tools that it may not use.
        timeout_minutes: its limit of wall-clock time.
        model: the model (default: the parent's).
        prompt: its prompt definition (default: the one for subagents).
        agent: another agent that does the work, with its own definition and tools.
        name: the name that the parent gave to this use of ``agent``.
        keeps: whether it keeps its session, and so remembers earlier work.
        explicit: whether it reports to its parent itself; then only a failure is reported for it.
        scoped_env: environment variables that it shares with its parent.
    """

    allowed_tools: tuple[str, ...] = ()
    denied_tools: tuple[str, ...] = ()
    timeout_minutes: float = Field(5.0, ge=1, le=30)
    model: str | None = None
    prompt: str | None = None
    agent: str | None = None
    name: str = ""
    keeps: bool = False
    explicit: bool = False
    scoped_env: tuple[str, ...] = ()


@dataclass(frozen=True)
class SubagentRun:
    """A run of a subagent: the call it belongs to, its message, and how it ended."""

    subagent_id: str
    agent_id: str
    spec: Json[SubagentSpec]
    turn_id: str
    seq: int
    wait: bool
    inbox_id: int
    state: str
    error: str | None
    result: str | None
    failed: bool

    @property
    def has_ended(self) -> bool:
        return self.state not in ("new", "claimed")

    @property
    def queue_name(self) -> str:
        return QUEUE + self.subagent_id


RUNS = Rows(
    SubagentRun,
    "subagent_run JOIN subagent ON subagent.id = subagent_id JOIN inbox ON inbox.id = inbox_id",
    "subagent.id, subagent.agent_id, spec, subagent_run.turn_id, seq, wait, inbox.id, inbox.state,"
    " inbox.error, result, ifnull(failed, 0)",
)
IN_ORDER = "ORDER BY +inbox_id"  # the plus keeps SQLite from walking through all runs


def create(
    db: Database, call: Call, agent_id: str, spec: SubagentSpec, now: int, chat_key: str = ""
) -> str:
    """Create a subagent for a call; return its id, which is derived from the call's.

    ``chat_key`` is the chat with whose conversation it ends.
    """
    subagent_id = f"{agent_id}-sub-{call.turn_id[-12:]}-{call.seq}"
    db.execute(
        "INSERT INTO subagent(id, agent_id, spec, created_at, chat_key) VALUES(?,?,?,?,?)",
        (subagent_id, agent_id, spec.model_dump_json(), now, chat_key),
    )
    return subagent_id


def begin_run(
    db: Database,
    call: Call,
    subagent_id: str,
    address: Address,
    task: str,
    now: int,
    *,
    wait: bool,
) -> None:
    """Put a task into a subagent's queue; ``address`` is the chat of the call's turn."""
    agent_id = db.execute("SELECT agent_id FROM subagent WHERE id = ?", (subagent_id,)).get
    message = InternalMessage(inbox.SUBAGENT, call.idem_key, subagent_id, str(agent_id), task)
    row = internal_messages.post(db, address, message, now, queue=QUEUE + subagent_id)
    db.execute(
        "INSERT INTO subagent_run(turn_id, seq, subagent_id, inbox_id, wait) VALUES(?,?,?,?,?)",
        (call.turn_id, call.seq, subagent_id, row, wait),
    )


def end_run(db: Database, turn_id: str, result: str, now: int, *, failed: bool) -> None:
    """Store the result of a subagent's turn, and report it to a parent that did not wait."""
    run = load_run_of_turn(db, turn_id)
    db.execute(
        "UPDATE subagent_run SET result = ?, failed = ? WHERE inbox_id = ?",
        (result, failed, run.inbox_id),
    )
    if run.wait or (run.spec.explicit and not failed):
        return
    if len(result) > REPORTED:
        result = f"{result[:REPORTED]}\n[shortened: the result has {len(result)} characters]"
    report = (FAILED if failed else RETURNED).format(id=run.subagent_id, result=result)
    post_report(db, run, f"{run.turn_id}:{run.seq}", report, now)


def post_report(db: Database, run: SubagentRun, message_id: str, text: str, now: int) -> None:
    """Post a report of a subagent to its parent, once for each ``message_id``."""
    origin = load_taint_of_run(db, run).origin
    report = InternalMessage(inbox.RESULT, message_id, run.subagent_id, run.agent_id, text, origin)
    internal_messages.post(db, inbox.load_message(db, run.inbox_id).build_address(), report, now)


def list_living_subagents(db: Database, agent_id: str, chat_key: str) -> dict[str, SubagentSpec]:
    """Return an agent's subagents in a chat that take more work, by id, oldest first."""
    rows = db.execute(
        "SELECT id, spec FROM subagent WHERE agent_id = ? AND chat_key = ? AND ended_at IS NULL"
        " ORDER BY created_at, id",
        (agent_id, chat_key),
    )
    known = {str(name): SubagentSpec.model_validate_json(spec) for name, spec in list(rows)}
    return {name: spec for name, spec in known.items() if spec.keeps}


def dismiss_subagents(db: Database, chat_key: str, now: int) -> None:
    """End the subagents of a chat whose conversation has ended."""
    db.execute(
        "UPDATE subagent SET ended_at = ? WHERE chat_key = ? AND ended_at IS NULL", (now, chat_key)
    )


def find_run_of_call(db: Database, turn_id: str, seq: int) -> SubagentRun | None:
    return RUNS.find_first(db, "subagent_run.turn_id = ? AND seq = ?", turn_id, seq)


def load_working_turn(db: Database, run: SubagentRun) -> str:
    return str(db.execute("SELECT turn_id FROM inbox WHERE id = ?", (run.inbox_id,)).get)


def load_taint_of_run(db: Database, run: SubagentRun) -> Taint:
    """Return the taint of the turn of a run."""
    return taint.load_taint(db, load_working_turn(db, run))


def load_run_of_turn(db: Database, turn_id: str) -> SubagentRun:
    return RUNS.select(db, f"inbox.turn_id = ? {IN_ORDER}", turn_id)[0]


def find_run_of_turn(db: Database, turn_id: str) -> SubagentRun | None:
    return RUNS.find_first(db, f"inbox.turn_id = ? {IN_ORDER}", turn_id)


def load_run_of_message(db: Database, inbox_id: int) -> SubagentRun:
    return RUNS.select(db, "inbox_id = ?", inbox_id)[0]


def list_open_runs_of_turn(db: Database, turn_id: str) -> list[SubagentRun]:
    return RUNS.select(db, f"subagent_run.turn_id = ? AND {OPEN} {IN_ORDER}", turn_id)


def list_open_runs_in_chat(db: Database, chat_key: str) -> list[SubagentRun]:
    where = f"result IS NULL AND {OPEN} AND {inbox.CHAT} = ? {IN_ORDER}"
    return RUNS.select(db, where, chat_key)


def list_unconfirmed_tools_of_runs(db: Database, turn_id: str) -> list[str]:
    """Return the names of tools that may or may not have run, for a turn's reply.

    These are the tools of the turn, of the runs that its calls waited for, and of the run whose
    result it answers.
    """
    # A result's message id begins with the turn of its call, by which an index finds it.
    runs = db.execute(
        "SELECT work.turn_id FROM subagent_run AS run JOIN inbox AS work ON work.id = run.inbox_id"
        " WHERE run.wait = 1 AND run.turn_id = ?1 AND work.turn_id IS NOT NULL UNION ALL"
        " SELECT work.turn_id FROM inbox AS report JOIN subagent_run AS run"
        " ON run.turn_id = rtrim(rtrim(report.message_id, '0123456789'), ':')"
        " AND report.message_id = run.turn_id || ':' || run.seq"
        " JOIN inbox AS work ON work.id = run.inbox_id"
        " WHERE report.turn_id = ?1 AND report.kind = ?2 AND work.turn_id IS NOT NULL",
        (turn_id, inbox.RESULT),
    )
    known = [turn_id, *(str(turn) for (turn,) in list(runs))]
    return list(
        dict.fromkeys(name for turn in known for name in steps.list_unconfirmed_tools(db, turn))
    )


def count_open_runs(db: Database, agent_id: str) -> int:
    return len(RUNS.select(db, f"result IS NULL AND {OPEN} AND subagent.agent_id = ?", agent_id))
