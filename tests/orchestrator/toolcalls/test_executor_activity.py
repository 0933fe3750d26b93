"""What those who watch a chat hear of its calls."""

from pathlib import Path

from fakes.executor_bench import HeldTool, held, running
from fakes.journal import step

from orchestrator.chat_activity import ActivityEvent, CallFinished, CallStarted
from thinker.protocol.messages import JsonObject, ToolResult
from thinker.protocol.methods import StepCommitted


async def test_watchers_of_the_chat_hear_of_each_call_once_when_it_begins_and_ends(
    tmp_path: Path,
) -> None:
    """With its arguments, how long it took and whether it failed; a question is not its end."""
    tool, heard = HeldTool(), list[ActivityEvent]()
    tool.released.set()
    times = iter(range(0, 100_000, 1500))
    async with running(tmp_path, now=lambda: next(times), tools=[held(tool)]) as bench:
        chat_key = bench.context.address.chat_key
        (unseen,) = bench.plan("held")
        await bench.ask(unseen)
        with bench.runner.activity.watch_chat(chat_key, heard.append):
            (seq,) = bench.plan("held", arguments={})
            await bench.ask(seq)
            await bench.ask(seq)
            (denied,) = bench.plan("held")
            await bench.ask(denied, bench.caller(deniedTools=["*"]))
            (asked,) = bench.plan("list_notes")
            await bench.question(asked, bench.caller(approvals=["list_notes"]))
    made = [CallStarted("t1", number, "work", "held", {}) for number in (seq, denied)]
    begun, ended, refused, end, question = heard
    assert [begun, refused] == made
    assert isinstance(ended, CallFinished)
    assert isinstance(end, CallFinished)
    assert (ended.call, ended.problem, ended.seconds > 0) == (made[0], None, True)
    assert end.call == made[1]
    assert end.problem is not None
    assert "not allowed" in end.problem
    assert isinstance(question, CallStarted)


async def test_watchers_hear_of_calls_that_ended_with_their_step(tmp_path: Path) -> None:
    """Those that the journal alone has carried out, and those that the worker rejected."""
    heard = list[ActivityEvent]()
    async with running(tmp_path) as bench:
        arguments: JsonObject = {"n": 1}
        commit = step("t1", "list_notes", "get_time", "pay", arguments=arguments)
        rejected = commit.calls[1].model_copy(update={"rejected": "no such zone"})
        commit = commit.model_copy(update={"calls": (commit.calls[0], rejected, commit.calls[2])})
        found = ToolResult(call_id="c", name="list_notes", content="none")
        committed = StepCommitted(seq=1, call_seqs=(2, 3, 4), results={2: found})
        with bench.runner.activity.watch_chat("c", heard.append):
            bench.runner.report_step("work", "c", commit, committed)
            bench.runner.report_step("work", "other", commit, committed)
    assert heard == [
        CallFinished(CallStarted("t1", 2, "work", "list_notes", arguments), 0.0, None),
        CallFinished(CallStarted("t1", 3, "work", "get_time", arguments), 0.0, "no such zone"),
    ]
