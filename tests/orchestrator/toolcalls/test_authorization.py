"""Calls that run inside T3, and the reasons why others do not run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fakes.agents_file import WORK, parsed
from fakes.journal import call, job, open_turn, opened, planned, step, store_in
from fakes.note_tools import TOOLS
from fakes.tool_call import tool_context

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.approvals import Approval
from orchestrator.toolcalls.authorization import CallAuthorizer, CallContext
from orchestrator.tools.builtin.host_tool import HostTool, JournalTool, ToolContext
from thinker.protocol.messages import JsonObject, ToolResult


@dataclass
class Bench:
    """The turn ``t1``, and the context of its calls."""

    db: Database
    context: ToolContext
    tools: dict[str, HostTool] = field(default_factory=lambda: dict(TOOLS))

    def caller(self, handed_back: frozenset[str] = frozenset(), **fields: object) -> CallContext:
        """The agent ``work`` with these fields."""
        (agent,) = parsed({**WORK, "llmProvider": "groq", **fields}).file.agents
        return CallContext(agent, self.context, 1, handed_back)

    def authorizer(self, caller: CallContext) -> CallAuthorizer:
        """What decides about the calls."""
        return CallAuthorizer(caller, self.tools, {}, None, now=5, code="AB12")

    def run_local(
        self, caller: CallContext, *names: str, arguments: JsonObject | None = None
    ) -> Mapping[int, ToolResult]:
        """T3 of calls of these tools, with no arguments or these."""
        calls = planned(self.db, "t1", *names, arguments=arguments or {})
        with job(self.db):
            return self.authorizer(caller).run_local_calls(self.db, [made.seq for made in calls])

    def states(self) -> list[str]:
        """The states of all calls."""
        query = "SELECT state FROM step WHERE kind = 'tool' ORDER BY seq"
        return [str(state) for (state,) in self.db.execute(query)]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A turn that has just begun."""
    with opened(tmp_path) as db:
        open_turn(db)
        store = store_in(tmp_path)
        yield Bench(db, tool_context(store, tmp_path))
        store.close()


def test_calls_that_need_only_the_journal_are_done_with_t3(bench: Bench) -> None:
    """Each has its intent, end and result; requesting it again returns that result."""
    caller = bench.caller()
    made = bench.run_local(caller, "list_notes", "get_note")
    assert [(seq, result.is_error) for seq, result in made.items()] == [(2, False), (3, False)]
    times = "SELECT t_intent, t_end FROM step WHERE kind = 'tool'"
    assert list(bench.db.execute(times)) == [(5, 5), (5, 5)]
    assert bench.states() == ["done", "done"]
    with job(bench.db):
        assert bench.authorizer(caller).begin(bench.db, 2) == made[2]


def test_what_follows_a_call_of_something_else_waits_for_it(bench: Bench) -> None:
    """Calls keep the model's order."""
    made = bench.run_local(bench.caller(), "list_notes", "ask_clerk", "get_note")
    assert list(made) == [2]
    assert bench.states() == ["done", "planned", "planned"]


def test_denied_call_is_refused_and_audited(bench: Bench) -> None:
    """The same happens when a worker requests it."""
    made = bench.run_local(bench.caller(deniedTools=["list_*"]), "list_notes", "get_note")
    assert [result.is_error for result in made.values()] == [True, False]
    assert bench.states() == ["failed", "done"]
    assert "denied list_notes" in bench.db.execute("SELECT act FROM audit").get


def test_call_that_needs_a_word_is_asked_for_and_not_made(bench: Bench) -> None:
    """The worker learns of it by its own request; calls after it wait."""
    caller = bench.caller(approvals=["get_note"])
    assert list(bench.run_local(caller, "list_notes", "get_note", "list_notes")) == [2]
    assert bench.states() == ["done", "planned", "planned"]
    with job(bench.db):
        assert isinstance(bench.authorizer(caller).begin(bench.db, 3), Approval)
    assert bench.db.execute("SELECT count(*) FROM approval").get == 1


def test_tool_of_whoever_asked_is_not_made_by_ours_of_its_name(bench: Bench) -> None:
    """It is handed back to the API client."""
    assert bench.run_local(bench.caller(frozenset({"list_notes"})), "list_notes") == {}
    assert bench.states() == ["planned"]


def test_rejected_call_keeps_its_end_and_holds_up_nothing(bench: Bench) -> None:
    """It was the worker that rejected it."""
    with job(bench.db):
        rejected = steps.plan(bench.db, step("t1", "list_notes", rejected="no"), {}, 1, 1)
        assert bench.authorizer(bench.caller()).run_local_calls(bench.db, rejected.call_seqs) == {}
    assert call(bench.db, "t1", 2).state == "failed"


def test_fault_of_a_tool_leaves_nothing_behind(bench: Bench) -> None:
    """Only that call is undone, not T3 or the calls before."""

    def effect(db: Database, context: ToolContext, arguments: JsonObject) -> str:
        del context, arguments
        db.execute("INSERT INTO meta VALUES('half', 'done')")
        raise KeyError("a bug")

    bench.tools["list_notes"] = JournalTool(TOOLS["list_notes"].spec, effect)
    assert list(bench.run_local(bench.caller(), "get_note", "list_notes", "get_note")) == [2]
    assert bench.states() == ["done", "planned", "planned"]
    assert bench.db.execute("SELECT count(*) FROM meta WHERE k = 'half'").get == 0


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("list_notes", "unknown argument 'color'; list_notes takes: limit, before"),
        ("get_time", "unknown argument 'color'; get_time takes: timezone"),
        ("read_note", "unknown argument 'color'; read_note takes: name, page"),
        ("get_note", "unknown argument 'color'; get_note takes no arguments"),
        ("ask_clerk", "unknown argument 'color'; ask_clerk takes: task, wait"),
    ],
)
def test_unknown_argument_of_a_built_in_tool_is_an_error_result(
    bench: Bench, tool: str, text: str
) -> None:
    """For every kind of tool; it names the argument and lists the valid ones."""
    planned(bench.db, "t1", tool, arguments={"color": "red"})
    with job(bench.db):
        result = bench.authorizer(bench.caller()).begin(bench.db, 2)
    assert isinstance(result, ToolResult)
    assert (result.is_error, result.content) == (True, text)
    assert bench.states() == ["failed"]


def test_unknown_arguments_are_refused_before_an_operator_is_asked(bench: Bench) -> None:
    """All of them are named."""
    planned(bench.db, "t1", "list_notes", arguments={"page": 2, "limit": 3, "size": 4})
    with job(bench.db):
        result = bench.authorizer(bench.caller(approvals=["*"])).begin(bench.db, 2)
    assert isinstance(result, ToolResult)
    assert result.content.startswith("unknown arguments 'page', 'size'; list_notes takes: ")
    assert bench.db.execute("SELECT count(*) FROM approval").get == 0


def test_other_names_of_an_argument_are_no_unknown_arguments(bench: Bench) -> None:
    """A tool may know the names that models use elsewhere."""
    note: JsonObject = {"note": "Brief me.", "text": "Brief me."}
    made = bench.run_local(bench.caller(), "keep_note", arguments=note)
    assert [result.is_error for result in made.values()] == [False]
