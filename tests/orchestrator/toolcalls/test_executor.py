"""Running tool calls: once however many ask, with a durable result or the reason for none."""

import threading
from pathlib import Path

import anyio
import pytest
from fakes.executor_bench import PAY, HeldTool, StartingServers, UnansweringServers, held, running
from fakes.journal import job
from fakes.note_tools import count_notes

from orchestrator.errors import JournalError
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.steps import UNKNOWN_OUTCOME
from orchestrator.toolcalls.executor import OFFERS, CallBrokeError, ToolPending
from orchestrator.tools.builtin.host_tool import (
    PlainTool,
    ToolContext,
    ToolFailure,
    build_tool_spec,
)
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import JsonObject, SideEffect, ToolResult

TASK: JsonObject = {"task": "Count to three."}


async def test_journal_gets_plain_data_and_nothing_that_the_event_loop_may_change(
    tmp_path: Path,
) -> None:
    """A result, a refusal, a question and a missing tool; so do all tests here."""
    loop = threading.current_thread()

    def now() -> int:
        assert threading.current_thread() is loop
        return 5

    async with running(tmp_path, now=now) as bench:
        for name in ("list_notes", "get_time", "none_such"):
            (seq,) = bench.plan(name)
            assert isinstance(await bench.outcome(seq), ToolResult)
            denied = await bench.ask(bench.plan(name)[0], bench.caller(deniedTools=["*"]))
            assert denied.is_error
        (seq,) = bench.plan("list_notes")
        question = await bench.question(seq, bench.caller(approvals=["list_notes"]))
        assert question.tool == "list_notes"


async def test_call_runs_once_for_all_who_ask_at_the_same_time(tmp_path: Path) -> None:
    """Each of them gets the same result."""
    tool, results = HeldTool(), list[ToolResult]()
    async with running(tmp_path, tools=[held(tool)]) as bench:
        (seq,) = bench.plan("held")

        async def ask() -> None:
            results.append(await bench.ask(seq))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)
            await tool.entered.wait()
            tool.released.set()
        assert bench.state(seq) == "done"
    assert [result.content for result in results] == ["done", "done"]
    assert tool.runs == 1


async def test_call_outlives_the_worker_that_asked_for_it(tmp_path: Path) -> None:
    """The next worker asks for the same call and gets its result; it does not run again."""
    tool = HeldTool()
    async with running(tmp_path, tools=[held(tool)]) as bench:
        (seq,) = bench.plan("held")
        async with anyio.create_task_group() as worker:
            worker.start_soon(bench.ask, seq)
            await tool.entered.wait()
            worker.cancel_scope.cancel()
        assert bench.runner.list_running_calls("t1") == {seq}
        tool.released.set()
        assert (await bench.ask(seq)).content == "done"
        assert (await bench.ask(seq)).content == "done"
    assert tool.runs == 1


async def test_granted_call_runs_once(tmp_path: Path) -> None:
    """It is refused to run before the answer, and its approval is used up by the run."""
    async with running(tmp_path) as bench:
        caller = bench.caller(approvals=["keep_*"])
        (seq,) = bench.plan("keep_note", arguments={"note": "Likes tea."})
        for _ in range(2):
            question = await bench.question(seq, caller)
        assert bench.state(seq) == "planned"
        await bench.approvals.decide_question(question.code, "operator", granted=True)
        assert (await bench.ask(seq, caller)).content.startswith("Kept: Likes tea.")
        assert (await bench.ask(seq, caller)).content.startswith("Kept: Likes tea.")
        assert count_notes(bench.db) == 1
        assert bench.db.execute("SELECT state FROM approval").get == "used"


async def test_denied_call_never_runs_and_the_model_reads_why(tmp_path: Path) -> None:
    """The refusal is the call's result, then and later."""
    async with running(tmp_path) as bench:
        caller = bench.caller(approvals=["keep_note"])
        (seq,) = bench.plan("keep_note", arguments={"note": "Likes tea."})
        question = await bench.question(seq, caller)
        await bench.approvals.decide_question(question.code, "operator", granted=False)
        refusal = await bench.ask(seq, caller)
        assert refusal.is_error
        assert refusal.content.startswith("not approved: ")
        assert await bench.ask(seq, caller) == refusal
        assert bench.state(seq) == "failed"
        assert count_notes(bench.db) == 0


async def test_call_that_waits_for_a_subagent_has_a_result_when_the_subagent_ends(
    tmp_path: Path,
) -> None:
    """Until then it is pending, and asking again starts no second subagent."""
    async with running(tmp_path) as bench:
        (seq,) = bench.plan("ask_clerk", arguments=TASK)
        for _ in range(2):
            assert await bench.outcome(seq) == ToolPending(seq)
            assert bench.state(seq) == "intent"
            with job(bench.db):  # the turn is suspended, and resumed
                steps.recover_calls(bench.db, "t1", frozenset(), 5)
        assert bench.db.execute("SELECT count(*) FROM subagent_run").get == 1
        assert bench.changes == ["changed", "changed"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolFailure("the page is empty; try another"), "the page is empty; try another"),
        (OSError("no route to host"), "the tool failed: no route to host"),
    ],
)
async def test_failure_of_a_tool_is_a_result_for_the_model(
    tmp_path: Path, error: Exception, text: str
) -> None:
    """It says what went wrong."""

    async def fail(context: ToolContext, arguments: JsonObject) -> str:
        del context, arguments
        raise error

    about = build_tool_spec("failing", "A test tool.", {}, side_effect=SideEffect.PURE)
    async with running(tmp_path, tools=[PlainTool(about, fail)]) as bench:
        (seq,) = bench.plan("failing")
        result = await bench.ask(seq)
        assert (result.is_error, result.content) == (True, text)
        assert bench.state(seq) == "failed"


async def test_tool_that_takes_too_long_fails(tmp_path: Path) -> None:
    """Its turn goes on."""
    about = build_tool_spec("held", "A test tool.", {}, side_effect=SideEffect.PURE)
    tool = PlainTool(about, HeldTool().run, seconds=0.0)
    async with running(tmp_path, tools=[tool]) as bench:
        (seq,) = bench.plan("held")
        result = await bench.ask(seq)
    assert (result.is_error, result.content) == (True, "the tool did not finish in 0 seconds")


def raising(error: Exception) -> PlainTool:
    """A tool that only raises this."""

    async def run(context: ToolContext, arguments: JsonObject) -> str:
        del context, arguments
        raise error

    return PlainTool(
        build_tool_spec("broken", "A test tool.", {}, side_effect=SideEffect.PURE), run
    )


async def test_fault_in_a_tool_leaves_the_call_without_a_result(tmp_path: Path) -> None:
    """It does not end the daemon; the turn's recovery decides what happens to the call."""
    broken = raising(KeyError("a bug"))
    async with running(tmp_path, tools=[broken]) as bench:
        (seq,) = bench.plan("broken")
        with pytest.raises(CallBrokeError, match="call t1:2 has no result"):
            await bench.ask(seq)
        assert bench.state(seq) == "intent"
        assert bench.runner.list_running_calls("t1") == frozenset()


async def test_call_that_cannot_use_the_journal_says_why(tmp_path: Path) -> None:
    """Its turn is tried again then."""
    broken = raising(JournalError("the server is away"))
    async with running(tmp_path, tools=[broken]) as bench:
        (seq,) = bench.plan("broken")
        with pytest.raises(JournalError, match="the server is away"):
            await bench.ask(seq)


async def test_tool_that_is_gone_is_refused_with_the_reason(tmp_path: Path) -> None:
    """No server offers it."""
    async with running(tmp_path) as bench:
        (seq,) = bench.plan("s_gone")
        result = await bench.ask(seq)
        assert result.is_error
        assert result.content.startswith("there is no tool 's_gone'")
        assert bench.state(seq) == "failed"


async def test_call_that_waits_for_its_server_is_not_taken_for_one_that_was_sent(
    tmp_path: Path,
) -> None:
    """If the daemon dies meanwhile, the next one makes the call."""
    async with running(tmp_path, StartingServers) as bench:
        bench.servers.tools, bench.servers.has_servers = {"s_pay": PAY}, True
        (seq,) = bench.plan("s_pay")
        with anyio.CancelScope() as scope:
            await bench.runner.run_planned_call(bench.caller(), seq, lambda _: scope.cancel())
        assert bench.state(seq) == "planned"
        bench.tasks.cancel_scope.cancel()


async def test_call_whose_answer_is_lost_is_recorded_as_unknown(tmp_path: Path) -> None:
    """The model is asked to verify before it repeats the call."""
    async with running(tmp_path, UnansweringServers) as bench:
        bench.servers.tools, bench.servers.has_servers = {"s_pay": PAY}, True
        (seq,) = bench.plan("s_pay")
        result = await bench.ask(seq)
        assert (result.is_error, result.content) == (True, UNKNOWN_OUTCOME)
        assert bench.state(seq) == "unknown"


async def test_only_calls_that_may_have_changed_something_are_reported_as_changes(
    tmp_path: Path,
) -> None:
    """A pure call wakes nothing."""
    async with running(tmp_path) as bench:
        look, store = bench.plan("get_time", "send_message", arguments={})
        await bench.ask(look)
        assert bench.changes == []
        await bench.ask(store)
        assert bench.changes == ["changed"]


async def test_turn_of_a_newer_owner_makes_no_call(tmp_path: Path) -> None:
    """A call of an older epoch gets no result and has no effect."""
    async with running(tmp_path) as bench:
        (seq,) = bench.plan("keep_note", arguments={"note": "Likes tea."})
        bench.db.execute("UPDATE turn SET epoch = 2")
        with pytest.raises(JournalError):
            await bench.ask(seq)
        assert bench.state(seq) == "planned"
        assert count_notes(bench.db) == 0


async def test_agent_is_offered_what_its_globs_leave_it(tmp_path: Path) -> None:
    """Built-in tools and those of MCP servers alike."""
    async with running(tmp_path) as bench:
        look = build_tool_spec("s_look", "Look.", {}, side_effect=SideEffect.PURE)
        bench.servers.tools, bench.servers.has_servers = (
            {"s_look": RemoteTool(look, "s", "look", timeout=1, keyed=False)},
            True,
        )
        caller = bench.caller(allowedTools=["get_*", "s_*"], deniedTools=["get_n*", "get_p*"])
        offered = {tool.name for tool in bench.runner.list_offered_tools(caller.definition)}
        assert offered == {"get_time", "s_look"}


async def test_offer_is_the_same_object_until_something_changes(tmp_path: Path) -> None:
    """So that a message costs no look at tools that did not change, for as many agents as fit."""
    async with running(tmp_path) as bench:
        bench.runner.prompts.adopt_set(bench.runner.prompts.current_set)
        one, two = (bench.caller(agentId=name).definition for name in ("work", "home"))
        first = bench.runner.list_offered_tools(one)
        assert bench.runner.list_offered_tools(two) == first
        assert bench.runner.list_offered_tools(one) is first
        other = bench.caller(deniedTools=["get_time"]).definition
        assert bench.runner.list_offered_tools(other) != first
        look = build_tool_spec("s_look", "Look.", {})
        bench.servers.tools, bench.servers.has_servers = (
            {"s_look": RemoteTool(look, "s", "look", timeout=1, keyed=False)},
            True,
        )
        assert bench.runner.list_offered_tools(one)[-1] == look
        many = [two.model_copy(update={"agent_id": str(number)}) for number in range(OFFERS + 1)]
        offers = [bench.runner.list_offered_tools(agent) for agent in many]
        assert bench.runner.list_offered_tools(many[-1]) is offers[-1]
        assert bench.runner.list_offered_tools(many[0]) is not offers[0]
