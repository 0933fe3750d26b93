"""The tool calls of one response: which run, together or in turn, and their results."""

from collections.abc import Sequence

import anyio
import pytest
from fakes.scripted import MemoryHost, ScriptedModel, Tool, call, calls, says, spec
from fakes.time_limit import time_limit

from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.models.base import ModelResponse
from thinker.protocol.messages import (
    JsonObject,
    SideEffect,
    ToolCall,
    ToolResult,
    ToolSpec,
    count_values,
)
from thinker.protocol.prompt_record import PromptRecord
from thinker.toolcalls.plan import MAX_ARGUMENTS, MAX_CALLS, MAX_VALUES

PURE = SideEffect.PURE
MANY: JsonObject = {"x": [[] for _ in range(MAX_VALUES)]}
LIMITS = TurnLimits(max_steps=8, max_tokens=0, deadline=1000.0)


async def results(
    host: MemoryHost, tools: Sequence[ToolSpec], *script: ModelResponse
) -> list[ToolResult]:
    """Return what the model sees after the calls of its script."""
    model = ScriptedModel(*script, says("done"))
    request = LoopRequest("t1", PromptRecord(layers=()), (), tuple(tools), LIMITS)
    with time_limit():
        await Loop(request, model, host, lambda: 0.0).run()
    return [m for m in model.requests[-1].messages if isinstance(m, ToolResult)]


class Meeting:
    """A tool that returns once ``size`` calls of it run at the same time."""

    def __init__(self, size: int) -> None:
        self._missing = size
        self._complete = anyio.Event()

    async def __call__(self, arguments: JsonObject) -> str:
        """Wait for the others."""
        self._missing -= 1
        if not self._missing:
            self._complete.set()
        await self._complete.wait()
        return str(arguments["x"])


class Alone:
    """A tool that fails when two calls of it overlap."""

    def __init__(self) -> None:
        self._running = False

    async def __call__(self, arguments: JsonObject) -> str:
        """Hold the place over several turns of the event loop."""
        assert not self._running, "calls overlap"
        self._running = True
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self._running = False
        return str(arguments["x"])


async def test_neighboring_pure_calls_run_together_and_keep_the_models_order() -> None:
    """None of the three can return before all have begun."""
    host = MemoryHost({"look": Meeting(3)})
    step = calls(*(call(f"c{x}", "look", x=x) for x in range(3)))
    seen = await results(host, [spec("look", PURE, x="number")], step)
    assert [(r.call_id, r.content) for r in seen] == [("c0", "0"), ("c1", "1"), ("c2", "2")]


async def test_results_keep_the_models_order_whichever_ends_first() -> None:
    """The first call waits for the second one's end."""
    ended = anyio.Event()

    async def slow(arguments: JsonObject) -> str:
        await ended.wait()
        return f"slow {arguments['x']}"

    async def fast(arguments: JsonObject) -> str:
        ended.set()
        return f"fast {arguments['x']}"

    host = MemoryHost({"slow": slow, "fast": fast})
    tools = [spec("slow", PURE, x="number"), spec("fast", PURE, x="number")]
    seen = await results(host, tools, calls(call("a", "slow", x=1), call("b", "fast", x=2)))
    assert [r.content for r in seen] == ["slow 1", "fast 2"]


@pytest.mark.parametrize("side_effect", sorted(set(SideEffect) - {PURE}))
async def test_calls_with_effects_run_one_after_another(side_effect: SideEffect) -> None:
    """Their order may matter, so nothing overlaps."""
    host = MemoryHost({"write": Alone()})
    step = calls(*(call(f"c{x}", "write", x=x) for x in range(3)))
    seen = await results(host, [spec("write", side_effect, x="number")], step)
    assert host.ran == [2, 3, 4]
    assert [r.content for r in seen] == ["0", "1", "2"]


async def test_pure_calls_do_not_pass_a_call_with_effects() -> None:
    """What is read after a write sees the write."""
    order: list[str] = []

    def noting(word: str) -> Tool:
        async def tool(arguments: JsonObject) -> str:
            order.append(f"{word}{arguments['x']} begins")
            await anyio.lowlevel.checkpoint()
            order.append(f"{word}{arguments['x']} ends")
            return ""

        return tool

    host = MemoryHost({"read": noting("r"), "write": noting("w")})
    tools = [spec("read", PURE, x="number"), spec("write", x="number")]
    step = calls(
        call("a", "read", x=1),
        call("b", "read", x=2),
        call("c", "write", x=3),
        call("d", "read", x=4),
    )
    await results(host, tools, step)
    assert order[:2] == ["r1 begins", "r2 begins"]
    assert order[4:] == ["w3 begins", "w3 ends", "r4 begins", "r4 ends"]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (call("a", "rm"), "no tool named 'rm'"),
        (ToolCall(id="a", name="add", malformed="{x:"), "cannot be read"),
        (call("a", "add"), "'x' is a required property"),
        (call("a", "add", x="five"), "'five' is not of type 'number'"),
        (call("a", "add", x="9" * MAX_ARGUMENTS), "longer than"),
        (ToolCall(id="a", name="add", arguments=MANY), "at most 10000 values"),
    ],
)
async def test_call_that_cannot_run_is_committed_as_rejected(bad: ToolCall, problem: str) -> None:
    """The model reads why; the valid neighbor runs."""
    host = MemoryHost()
    good = call("b", "add", x="5")
    seen = await results(host, [spec("add", x="number")], calls(bad, good))
    assert problem in seen[0].content
    assert [(r.call_id, r.is_error) for r in seen] == [("a", True), ("b", False)]
    planned = host.commits[0].step.calls
    assert (planned[0].arguments, planned[0].rejected) == ({}, seen[0].content)
    assert (planned[1].arguments, planned[1].rejected) == ({"x": 5}, None)
    assert host.ran == [3]


async def test_calls_of_one_response_share_the_limit_of_values() -> None:
    """The supervisor reads a response in one go; what is over the limit reaches it as text."""
    host = MemoryHost()
    half: JsonObject = {"at": [0] * (MAX_VALUES // 2)}
    many = [ToolCall(id=f"c{x}", name="look", arguments=half) for x in range(3)]
    seen = await results(host, [spec("look", PURE)], calls(*many, call("d", "look")))
    assert [result.is_error for result in seen] == [False, True, True, False]
    sent = host.commits[0].step.response.tool_calls
    assert [one.malformed is None for one in sent] == [True, False, False, True]
    assert sum(count_values(one.arguments) for one in sent) <= MAX_VALUES


async def test_calls_over_the_limit_are_rejected() -> None:
    """A model that asks for two hundred calls gets the first of them and an explanation."""
    host = MemoryHost()
    step = calls(*(call(f"c{x}", "look") for x in range(200)))
    seen = await results(host, [spec("look", PURE)], step)
    assert len(seen) == 200
    assert [r.is_error for r in seen] == [False] * MAX_CALLS + [True] * (200 - MAX_CALLS)
    assert len(host.ran) == MAX_CALLS


@pytest.mark.parametrize("side_effect", [PURE, SideEffect.NON_IDEMPOTENT])
async def test_failure_of_the_host_comes_out_as_it_is(side_effect: SideEffect) -> None:
    """A fenced turn ends the same way whether its calls ran together or not."""

    async def fenced(arguments: JsonObject) -> str:
        raise LookupError(str(arguments["x"]))

    host = MemoryHost({"look": fenced})
    step = calls(call("a", "look", x=1), call("b", "look", x=2))
    with pytest.raises(LookupError, match="1"):
        await results(host, [spec("look", side_effect, x="number")], step)


async def test_words_before_calls_are_shown_before_the_calls_run() -> None:
    """The calls may take long."""
    seen: list[str] = []

    async def look(arguments: JsonObject) -> str:
        seen.extend(host.shown)
        return str(arguments)

    host = MemoryHost({"look": look})
    model = ScriptedModel(calls(call("a", "look", x=1), text="Let me look."), says("done"))
    offered = (spec("look", x="number"),)
    request = LoopRequest("t1", PromptRecord(layers=()), (), offered, LIMITS, stream=True)
    await Loop(request, model, host, lambda: 0.0).run()
    assert "Let me look." in seen
