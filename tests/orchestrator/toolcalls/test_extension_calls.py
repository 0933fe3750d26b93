"""Tools that are functions of strangers: no fault of theirs is one of the daemon."""

import asyncio
import threading
from pathlib import Path

import anyio
import pytest
from fakes.executor_bench import Bench, running

from orchestrator.journal.turns import taint
from orchestrator.journal.turns.steps import UNKNOWN_OUTCOME
from orchestrator.toolcalls.extension_calls import MAX_CALLS, MAX_TEXT
from orchestrator.tools.builtin.host_tool import ExtensionTool
from orchestrator.tools.extension_tool import Caller, Kind, ToolFailure, define_tool
from thinker.protocol.messages import ToolResult


async def called(bench: Bench, tool: ExtensionTool) -> ToolResult:
    """The result of a call without arguments."""
    (seq,) = bench.plan(tool.spec.name)
    return await bench.ask(seq)


async def test_function_runs_outside_the_daemons_loop_and_knows_its_call(tmp_path: Path) -> None:
    """Its result has the origin that the tool was given, and taints the turn."""

    @define_tool(origin="web")
    async def look(caller: Caller) -> dict[str, str]:
        """Look somewhere."""
        assert threading.current_thread() is not threading.main_thread()
        await asyncio.sleep(0)
        return {"key": caller.key, "chat": caller.chat_id}

    async with running(tmp_path, tools=[look]) as bench:
        result = await called(bench, look)
        assert (result.content, result.is_error) == ('{"key":"t1:2","chat":"7"}', False)
        assert (result.origin, result.private) == ("web", True)
        read = taint.load_taint(bench.db, "t1")
        assert ({*read.private}, read.untrusted) == ({"look"}, {"look": "web"})


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolFailure("there is no train"), "there is no train"),
        (KeyError("place"), "the tool failed: KeyError: 'place'"),
        (TimeoutError("no answer"), "the tool failed: TimeoutError: no answer"),
        (SystemExit(3), "the tool failed: RuntimeError: it raised SystemExit"),
        (asyncio.CancelledError(), "the tool failed: RuntimeError: it raised CancelledError"),
    ],
)
async def test_whatever_a_function_raises_is_a_result(
    tmp_path: Path, error: BaseException, text: str
) -> None:
    """Also what would end a program."""

    @define_tool()
    def fail() -> str:
        """Fail."""
        raise error

    async with running(tmp_path, tools=[fail]) as bench:
        result = await called(bench, fail)
        assert (result.is_error, result.content) == (True, text)


@pytest.mark.parametrize(
    ("kind", "content", "state"),
    [
        ("pure", "the tool did not finish in 0 seconds", "failed"),
        ("non_idempotent", UNKNOWN_OUTCOME, "unknown"),
        ("keyed", UNKNOWN_OUTCOME, "unknown"),
    ],
)
async def test_function_that_holds_its_thread_is_given_up(
    tmp_path: Path, kind: Kind, content: str, state: str
) -> None:
    """The loop goes on; whether something was done is told as it is."""
    released = threading.Event()

    @define_tool(side_effect=kind, seconds=0.0)
    async def hold() -> str:
        """Hold the thread, as no asynchronous function should."""
        released.wait()
        return "done"

    async with running(tmp_path, tools=[hold]) as bench:
        (seq,) = bench.plan("hold")
        result = await bench.ask(seq)
        assert (result.is_error, result.content) == (True, content)
        assert bench.state(seq) == state
        released.set()


async def test_calls_that_never_end_do_not_take_all_threads(tmp_path: Path) -> None:
    """Beyond a number more are refused, until one ends; other tools run on."""
    released, entered = threading.Event(), threading.Semaphore(0)

    @define_tool(side_effect="pure")
    def hold() -> str:
        """Hold the thread."""
        entered.release()
        released.wait()
        return "done"

    async with running(tmp_path, tools=[hold]) as bench:
        seqs = bench.plan(*["hold"] * (MAX_CALLS + 1))
        results: list[ToolResult] = []

        async def ask(seq: int) -> None:
            results.append(await bench.ask(seq))

        async with anyio.create_task_group() as tasks:
            for seq in seqs:
                tasks.start_soon(ask, seq)
            while not results:
                await anyio.lowlevel.checkpoint()
            assert "an operator has to restart the daemon" in results[0].content
            (clock,) = bench.plan("get_time")
            assert not (await bench.ask(clock)).is_error
            released.set()
    assert [result.content for result in results[1:]] == ["done"] * MAX_CALLS


async def test_long_result_is_cut_and_broken_text_mended(tmp_path: Path) -> None:
    """The journal can store it."""

    @define_tool(side_effect="pure")
    def tell() -> str:
        """Tell much."""
        return "\ud800" + "x" * MAX_TEXT

    async with running(tmp_path, tools=[tell]) as bench:
        result = await called(bench, tell)
        assert result.content.startswith("?xxx")
        assert result.content.endswith("xxx\n[1 more characters were left out]")
