"""Subagents: processes that a call of an agent's turn has do a piece of work.

A run of one is a message in a line of its own and becomes a turn like any other. It belongs to
the call that began it: the same call finds it again, however often it is made, so that no crash
can begin the work twice. A call that does not wait has the result put into its chat as a message,
in the transaction that ends the work.
"""

from dataclasses import dataclass

import apsw
from pydantic import Field

from orchestrator.journal.turns import inbox, internal_messages, steps
from orchestrator.journal.turns.internal_messages import InternalMessage
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.steps import Call
from thinker.protocol.messages import Frozen

LANE = "subagent/"  # begins the line of a subagent's work
MOST = 5  # of an agent at once; seed 002
OPEN = "inbox.state IN('new','claimed')"
RETURNED = "Subagent (reference: {id}) has returned the following result:\n\n{result}"
FAILED = "Subagent (reference: {id}) has reported a failure:\n\n{result}"
COLUMNS = (
    "subagent.id, subagent.agent_id, spec, subagent_run.turn_id, seq, wait, inbox.id, inbox.state,"
    " inbox.error, result, failed"
)
JOINED = "subagent_run JOIN subagent ON subagent.id = subagent_id JOIN inbox ON inbox.id = inbox_id"


class Spec(Frozen):
    """What a subagent may do: its parent's tools that these globs leave, for so many minutes.

    ``prompt`` is the definition that it works with, None the usual one of subagents. With an
    ``agent`` it is that agent instead, with that one's tools, called ``name``. One that ``keeps``
    its session remembers what it did before; what an ``explicit`` one says itself is all that its
    parent hears of work that it does not wait for, unless that fails. ``scoped_env`` are variables
    that are set to what they are for its parent.
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
    """One piece of work: whose it is, the call it belongs to, its message, and how it ended."""

    subagent_id: str
    agent_id: str
    spec: Spec
    turn_id: str
    seq: int
    wait: bool
    inbox_id: int
    state: str
    error: str | None
    result: str | None
    failed: bool

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.state not in ("new", "claimed")

    @property
    def lane(self) -> str:
        """The line in the journal that its work stands in."""
        return LANE + self.subagent_id


def create(
    db: apsw.Connection, call: Call, agent_id: str, spec: Spec, now: int, chat_key: str = ""
) -> str:
    """A new subagent of an agent, named after the call that wants it; it lives in a chat."""
    subagent_id = f"{agent_id}-sub-{call.turn_id[-12:]}-{call.seq}"
    db.execute(
        "INSERT INTO subagent(id, agent_id, spec, created_at, chat_key) VALUES(?,?,?,?,?)",
        (subagent_id, agent_id, spec.model_dump_json(), now, chat_key),
    )
    return subagent_id


def begin(
    db: apsw.Connection,
    call: Call,
    subagent_id: str,
    address: Address,
    task: str,
    now: int,
    *,
    wait: bool,
) -> None:
    """Put a piece of work into a subagent's line; ``address`` is the chat of the call's turn."""
    agent_id = db.execute("SELECT agent_id FROM subagent WHERE id = ?", (subagent_id,)).get
    work = InternalMessage(
        kind=inbox.SUBAGENT,
        message_id=f"{call.turn_id}:{call.seq}",
        sender=subagent_id,
        agent_id=str(agent_id),
        text=task,
    )
    row = internal_messages.post(db, address, work, now, lane=LANE + subagent_id)
    db.execute(
        "INSERT INTO subagent_run(turn_id, seq, subagent_id, inbox_id, wait) VALUES(?,?,?,?,?)",
        (call.turn_id, call.seq, subagent_id, row, wait),
    )


def end(db: apsw.Connection, turn_id: str, result: str, now: int, *, failed: bool) -> None:
    """Note what the work of a subagent's turn came to; a parent that did not wait is told."""
    run = of_turn(db, turn_id)
    db.execute(
        "UPDATE subagent_run SET result = ?, failed = ? WHERE inbox_id = ?",
        (result, failed, run.inbox_id),
    )
    if run.wait or (run.spec.explicit and not failed):
        return
    told = (FAILED if failed else RETURNED).format(id=run.subagent_id, result=result)
    tell(db, run, f"{run.turn_id}:{run.seq}", told, now)


def tell(db: apsw.Connection, run: SubagentRun, message_id: str, text: str, now: int) -> None:
    """Put something that a subagent's work has come to into its parent's chat, once."""
    news = InternalMessage(inbox.RESULT, message_id, run.subagent_id, run.agent_id, text)
    internal_messages.post(db, inbox.load(db, run.inbox_id).address(), news, now)


def living(db: apsw.Connection, agent_id: str, chat_key: str) -> dict[str, Spec]:
    """The subagents of an agent in a chat that take more work, by reference, oldest first."""
    rows = db.execute(
        "SELECT id, spec FROM subagent WHERE agent_id = ? AND chat_key = ? AND ended_at IS NULL"
        " AND json_extract(spec, '$.keeps') ORDER BY created_at, id",
        (agent_id, chat_key),
    )
    return {str(name): Spec.model_validate_json(spec) for name, spec in list(rows)}


def dismiss(db: apsw.Connection, chat_key: str, now: int) -> None:
    """A new conversation begins in a chat: its subagents take no more work."""
    db.execute(
        "UPDATE subagent SET ended_at = ? WHERE chat_key = ? AND ended_at IS NULL", (now, chat_key)
    )


def of_call(db: apsw.Connection, turn_id: str, seq: int) -> SubagentRun | None:
    """The work that a call has begun."""
    return next(iter(_select(db, "subagent_run.turn_id = ? AND seq = ?", turn_id, seq)), None)


def working_turn(db: apsw.Connection, run: SubagentRun) -> str:
    """The turn in which a piece of work was done."""
    return str(db.execute("SELECT turn_id FROM inbox WHERE id = ?", (run.inbox_id,)).get)


def of_turn(db: apsw.Connection, turn_id: str) -> SubagentRun:
    """The work that a subagent's turn does."""
    return _select(db, "inbox.turn_id = ?", turn_id)[0]


def by_turn(db: apsw.Connection, turn_id: str) -> SubagentRun | None:
    """The work that a turn does, if it is a subagent's."""
    return next(iter(_select(db, "inbox.turn_id = ?", turn_id)), None)


def of_message(db: apsw.Connection, inbox_id: int) -> SubagentRun:
    """The work that a message in a subagent's line is."""
    return _select(db, "inbox_id = ?", inbox_id)[0]


def begun_by(db: apsw.Connection, turn_id: str) -> list[SubagentRun]:
    """The work of a turn's calls that is not over."""
    return _select(db, f"subagent_run.turn_id = ? AND {OPEN}", turn_id)


def in_chat(db: apsw.Connection, chat_key: str) -> list[SubagentRun]:
    """The work begun in a chat that is not over."""
    return _select(db, f"result IS NULL AND {OPEN} AND {inbox.CHAT} = ?", chat_key)


def unconfirmed(db: apsw.Connection, turn_id: str) -> list[str]:
    """The tools of which nobody knows whether they ran: a turn's, and those of work it rests on.

    That is what its calls have waited for, and the work whose result it answers.
    """
    # Of a result's name the first part finds the calls of that turn, and the whole the one of them.
    behind = db.execute(
        "SELECT work.turn_id FROM subagent_run AS run JOIN inbox AS work ON work.id = run.inbox_id"
        " WHERE run.wait AND run.turn_id = ?1 AND work.turn_id IS NOT NULL UNION ALL"
        " SELECT work.turn_id FROM inbox AS told JOIN subagent_run AS run"
        " ON run.turn_id = substr(told.message_id, 1, instr(told.message_id, ':') - 1)"
        " AND told.message_id = format('%s:%d', run.turn_id, run.seq)"
        " JOIN inbox AS work ON work.id = run.inbox_id"
        " WHERE told.turn_id = ?1 AND told.kind = ?2 AND work.turn_id IS NOT NULL",
        (turn_id, inbox.RESULT),
    )
    known = [turn_id, *(str(turn) for (turn,) in list(behind))]
    return list(dict.fromkeys(name for turn in known for name in steps.unconfirmed(db, turn)))


def open_count(db: apsw.Connection, agent_id: str) -> int:
    """How much work of an agent's subagents is not over."""
    return len(_select(db, f"result IS NULL AND {OPEN} AND subagent.agent_id = ?", agent_id))


def _select(db: apsw.Connection, where: str, *values: object) -> list[SubagentRun]:
    # The plus keeps SQLite from walking in that order through all work that ever was.
    rows = db.execute(f"SELECT {COLUMNS} FROM {JOINED} WHERE {where} ORDER BY +inbox_id", values)
    return [
        SubagentRun(
            subagent_id=name,
            agent_id=agent_id,
            spec=Spec.model_validate_json(spec),
            turn_id=turn_id,
            seq=seq,
            wait=bool(wait),
            inbox_id=inbox_id,
            state=state,
            error=error,
            result=result,
            failed=bool(failed),
        )
        for name, agent_id, spec, turn_id, seq, wait, inbox_id, state, error, result, failed in rows
    ]
