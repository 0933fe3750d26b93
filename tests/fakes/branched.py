"""Conversations of one agent that are rewound and forked, and the world that their tools change."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from fakes.agents_file import WORK, parsed
from fakes.journal import connection_in, job, store_in
from fakes.postgresql import POSTGRESQL
from fakes.tool_call import tool_context

from orchestrator.channel_api import InboundMessage
from orchestrator.extensions.branches import branching
from orchestrator.extensions.branches.branching import ChildSession
from orchestrator.journal.db.database import Connection
from orchestrator.journal.db.store import Store
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import approvals, inbox, questions, steps, subagents, turns
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address, OutboxPart
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentSpec
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from orchestrator.toolcalls.authorization import CallAuthorizer, CallContext, StartedCall
from orchestrator.tools.builtin.host_tool import ToolContext, build_tool_result, build_tool_spec
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import (
    AssistantMessage,
    JsonObject,
    SideEffect,
    ToolCall,
    ToolResult,
)
from thinker.protocol.methods import PlannedCall, StepCommit

HOME = Address("telegram", "1", "7")
PURE = ("look_up", "get_code")
TOOLS = (
    *("send_mail", "post_message", "pay_bill", "transfer_money", "delete_file", "cancel_order"),
    *("create_event", "book_room", "upload_report", "set_light", *PURE),
)
NOTES = ("keep_note",)  # in the journal


def remote(name: str) -> RemoteTool:
    """A tool of a server whose results are the operator's own words."""
    effect = SideEffect.PURE if name in PURE else SideEffect.NON_IDEMPOTENT
    spec = build_tool_spec(name, "A tool.", {}, side_effect=effect)
    return RemoteTool(spec, "s", name, timeout=1, keyed=False, origin="operator")


REMOTE = {name: remote(name) for name in (*TOOLS, *NOTES)}
CLASSES = {
    **{name: tool.spec.side_effect for name, tool in REMOTE.items()},
    **dict.fromkeys(NOTES, SideEffect.LOCAL_TX),
}


@dataclass
class Outcome:
    """How a call ended, and the question if it waits for one."""

    call: Call
    done: bool = False
    text: str = ""
    question: Approval | None = None


@dataclass
class BranchedWorld:
    """A journal in which turns are had at once, and what their calls did outside of it."""

    db: Connection
    store: Store
    context: ToolContext
    configured: tuple[str, ...] = ()  # tools for which the configuration requires approval
    effects: list[tuple[str, JsonObject]] = field(default_factory=list)
    now: int = 1_770_897_600_000
    number: int = 0

    # --- turns ------------------------------------------------------------------------------------

    def begin(self, text: str = "go on", at: Address = HOME, agent: str = "work") -> Turn:
        """T1 and T2 of a person's message in a chat."""
        self.number += 1
        self.now += 60_000
        message = InboundMessage(
            channel=at.channel,
            bot_id=at.bot_id,
            chat_id=at.chat_id,
            message_id=str(self.number),
            update_id=self.number if at.channel == "telegram" else None,
            sender_id="7",
            text=text,
        )
        admission = TurnAdmission(f"{self.number:032x}", agent, 1, 15, "1")
        with job(self.db):
            inbox.ingest(self.db, [Arrival(message)], None, self.now)
            row = inbox.find_oldest_new(self.db, at.chat_key)
            assert row is not None
            turn = turns.admit_message(self.db, row, admission, self.now)
        assert turn is not None
        return turn

    def end(self, turn: Turn, text: str = "done") -> str:
        """T6: the answer; the id of the turn."""
        self.now += 1000
        part = OutboxPart(text)
        with job(self.db):
            turns.end_with_reply(self.db, turn, [part], "direct", ("done", None), self.now)
            self.db.execute(
                "UPDATE outbox SET state = 'delivered', msg_id = 'm' || id, ended_at = ?"
                " WHERE state = 'queued'",
                (self.now,),
            )
            self.db.execute("UPDATE turn SET state = 'closed' WHERE id = ?", (turn.id,))
        return turn.id

    def have(self, text: str = "go on", *calls: tuple[str, JsonObject], at: Address = HOME) -> str:
        """A whole turn whose calls all run; its id."""
        turn = self.begin(text, at)
        for name, arguments in calls:
            outcome = self.call(turn, name, **arguments)
            assert outcome.question is None, outcome.question.reason
        return self.end(turn, f"answer to: {text}")

    # --- calls ------------------------------------------------------------------------------------

    def plan(self, turn: Turn, name: str, arguments: JsonObject) -> Call:
        """T3 of one call."""
        made = ToolCall(id="c", name=name, arguments=arguments)
        commit = StepCommit(
            turn_id=turn.id,
            response=AssistantMessage(content="", tool_calls=(made,)),
            calls=(PlannedCall(id="c", name=name, arguments=arguments),),
            model="demo/demo",
        )
        with job(self.db):
            (seq,) = steps.plan(self.db, commit, CLASSES, 1, self.now).call_seqs
        found = steps.find_call(self.db, turn.id, seq)
        assert found is not None
        return found

    def call(self, turn: Turn, name: str, **arguments: object) -> Outcome:
        """A call of a turn: what it did, or what it waits for."""
        return self.try_again(turn, self.plan(turn, name, dict(arguments)))  # type: ignore[arg-type]

    def try_again(self, turn: Turn, call: Call) -> Outcome:
        """T4, effect and T5 of a planned call."""
        (agent,) = parsed({**WORK, "approvals": [*self.configured]}).file.agents
        address = turns.load_opening_message(self.db, turn.id).build_address()
        context = replace(self.context, turn_id=turn.id, address=address)
        with job(self.db):
            begun = CallAuthorizer(
                caller=CallContext(agent, context, 1),
                host_tools={},
                tools=REMOTE,
                bundle=None,
                now=self.now,
                code=f"code-{turn.id}-{call.seq}",
            ).begin(self.db, call.seq)
        if isinstance(begun, Approval):
            return Outcome(call, question=begun)
        if isinstance(begun, ToolResult):
            return Outcome(call, done=not begun.is_error, text=begun.content)
        assert isinstance(begun, StartedCall)
        self.effects.append((call.name, call.arguments))
        return self.finish(call, f"{call.name} ok")

    def finish(self, call: Call, text: str, state: str | None = None) -> Outcome:
        """T5 of a call with this result."""
        wrong = state in ("failed", "unknown")
        result = ToolResult(call_id="c", name=call.name, content=text, is_error=wrong)
        with job(self.db):
            steps.finish(self.db, call, result, self.now, state)
        return Outcome(call, done=not wrong, text=text)

    def answer_like(self, turn: Turn, name: str, result: str, **arguments: object) -> None:
        """A call whose result is this text."""
        call = self.plan(turn, name, dict(arguments))  # type: ignore[arg-type]
        with job(self.db):
            steps.mark_intent(self.db, turn.id, call.seq, 1, self.now)
        self.finish(call, result)

    def leave(self, turn: Turn, name: str, state: str, **arguments: object) -> None:
        """A call that ended as ``failed`` or ``unknown``, or has only begun (``intent``)."""
        call = self.plan(turn, name, dict(arguments))  # type: ignore[arg-type]
        with job(self.db):
            steps.mark_intent(self.db, turn.id, call.seq, 1, self.now)
        if state != "intent":
            self.finish(call, state, state)

    def crash(self, turn: Turn) -> None:
        """Let the process die that ran a turn, and the next one settle its calls."""
        with job(self.db):
            steps.recover_calls(self.db, turn.id, frozenset(), self.now)

    def decide(self, outcome: Outcome, *, granted: bool = True) -> None:
        """Answer the question of a call."""
        assert outcome.question is not None
        with job(self.db):
            code = outcome.question.code
            assert questions.decide_question(self.db, code, "op", self.now, granted=granted)

    def delegate(self, turn: Turn, task: str, *, wait: bool = True) -> Turn:
        """A turn of a subagent that a call of a turn has begun, and may ``wait`` for."""
        call = self.plan(turn, "spawn", {"task": task})
        self.number += 1
        address = turns.load_opening_message(self.db, turn.id).build_address()
        with job(self.db):
            name = subagents.create(self.db, call, "work", SubagentSpec(), self.now)
            subagents.begin_run(self.db, call, name, address, task, self.now, wait=wait)
            row = inbox.find_oldest_new(self.db, subagents.QUEUE + name)
            assert row is not None
            admission = TurnAdmission(f"{self.number:032x}", name, 1, 15, "1", "subagent")
            found = turns.admit_message(self.db, row, admission, self.now)
            if not wait:
                steps.mark_intent(self.db, turn.id, call.seq, 1, self.now)
                steps.finish(self.db, call, build_tool_result(call, "begun"), self.now)
        assert found is not None
        return found

    # --- branches ---------------------------------------------------------------------------------

    def fork(self, turn_id: str, name: str = "fork-1") -> ChildSession:
        """A fork in a chat of the page."""
        address = Address("web", "local", f"operator/{name}")
        with job(self.db):
            point = branching.load_point(self.db, turn_id)
            return branching.fork_conversation(self.db, point, address, "operator", self.now)

    def rewind(self, turn_id: str) -> ChildSession:
        """The same chat from an earlier turn on."""
        with job(self.db):
            point = branching.load_point(self.db, turn_id)
            return branching.rewind_conversation(self.db, point, "operator", self.now)

    def list_questions(self) -> list[Approval]:
        """The open questions."""
        return approvals.list_pending_approvals(self.db, self.now)


@contextmanager
def branched_world(folder: Path) -> Iterator[BranchedWorld]:
    """A fresh journal; after the block its invariants hold."""
    with closing(store_in(folder)) as store, closing(connection_in(folder)) as db:
        if not POSTGRESQL:
            db.execute("PRAGMA synchronous = OFF")  # no test cuts the power
        with job(db):
            turns.boot(db, 0)
        yield BranchedWorld(db, store, tool_context(store, folder))
        assert invariants.check_invariants(db) == []
