"""A turn that resumes in another process, and its transcript."""

import anyio
import pytest
from fakes.scripted import (
    USAGE,
    MemoryHost,
    ScriptedModel,
    call,
    calls,
    says,
    spec,
    well_formed,
)
from fakes.time_limit import time_limit
from hypothesis import given
from hypothesis import strategies as st

from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.models.base import ModelResponse
from thinker.protocol.messages import (
    AssistantMessage,
    Message,
    SideEffect,
    ToolCall,
    ToolResult,
    UserMessage,
)
from thinker.protocol.methods import RecordedStep, StopReason, TurnResult
from thinker.protocol.notices import STOP_TEXTS
from thinker.protocol.prompt_record import PromptRecord
from thinker.worker_errors import RetryableModelError

PROMPT = PromptRecord(layers=())
TOOLS = (spec("add", x="number"), spec("look", SideEffect.PURE))
STEP = calls(call("a", "add", x=1), call("b", "look"), call("c", "rm"), call("d", "look"))


def turn(limits: TurnLimits, past: tuple[Message, ...] = ()) -> LoopRequest:
    """A turn with both tools."""
    messages = (*past, UserMessage(content="do it"))
    return LoopRequest("t1", PROMPT, messages, TOOLS, limits)


async def go_on(
    model: ScriptedModel,
    host: MemoryHost,
    recorded: tuple[RecordedStep, ...],
    limits: TurnLimits | None = None,
) -> TurnResult:
    """Run the rest of a turn."""
    request = turn(limits or TurnLimits(8, 0, 1000.0))
    with time_limit():
        return await Loop(request, model, host, lambda: 0.0).run(recorded)


async def stopped(*script: ModelResponse) -> MemoryHost:
    """Return the host of a turn whose process ended after its script."""
    host = MemoryHost(drain_after=len(script))
    await Loop(turn(TurnLimits(8, 0, 1000.0)), ScriptedModel(*script), host, lambda: 0.0).run()
    return host


@pytest.mark.parametrize(
    "kept", [{2, 3, 5}, {2}, {3, 5}, set()], ids=lambda kept: str(sorted(kept))
)
async def test_recorded_step_runs_only_what_has_no_result(kept: set[int]) -> None:
    """The step is not requested again, and the model sees each result once, in order."""
    before = await stopped(STEP)
    recorded = before.recorded(lambda seq: seq in kept or before.planned[seq].name == "rm")
    host, model = before.resumed(recorded), ScriptedModel(says("done"))
    result = await go_on(model, host, recorded)
    assert (result.text, result.steps, result.usage) == ("done", 2, USAGE + USAGE)
    assert set(host.ran) == {2, 3, 5} - kept
    seen = [m for m in model.requests[0].messages if isinstance(m, ToolResult)]
    assert [r.call_id for r in seen] == ["a", "b", "c", "d"]
    assert len(host.commits) == 2


async def test_first_commit_of_a_new_process_carries_its_prompt() -> None:
    """The journal shows what the model saw in each process."""
    before = await stopped(STEP)
    recorded = before.recorded()
    host = before.resumed(recorded)
    await go_on(ScriptedModel(says("done")), host, recorded)
    assert [committed.step.prompt for committed in host.commits] == [PROMPT, PROMPT]


@pytest.mark.parametrize(
    ("last", "reason", "text"),
    [
        (says("Hello."), StopReason.DONE, "Hello."),
        (says("<think>Hm.</think>Hello."), StopReason.DONE, "Hello."),
        (says("No.", finish="refused"), StopReason.REFUSED, "No."),
    ],
)
async def test_recorded_answer_ends_the_turn_at_once(
    last: ModelResponse, reason: StopReason, text: str
) -> None:
    """A process that died between the last commit and its result loses nothing."""
    before = MemoryHost()
    await Loop(turn(TurnLimits(8, 0, 1000.0)), ScriptedModel(last), before, lambda: 0.0).run()
    recorded = before.recorded()
    result = await go_on(ScriptedModel(), before.resumed(recorded), recorded)
    assert (result.text, result.stop_reason, result.steps) == (text, reason, 1)


async def test_model_error_and_crash_resume_alike() -> None:
    """The steps before a failed model call are kept."""
    before = MemoryHost()
    failing = ScriptedModel(STEP, RetryableModelError("overloaded"))
    await Loop(turn(TurnLimits(8, 0, 1000.0)), failing, before, lambda: 0.0).run()
    recorded = before.recorded()
    host, model = before.resumed(recorded), ScriptedModel(says("done"))
    result = await go_on(model, host, recorded)
    assert (result.text, host.ran) == ("done", [])
    assert model.requests[0].messages == failing.requests[1].messages


async def test_recorded_empty_answer_counts_as_the_first() -> None:
    """A crash does not give a silent model a third chance."""
    recorded = (RecordedStep(seq=1, response=AssistantMessage()),)
    result = await go_on(ScriptedModel(says()), MemoryHost(), recorded)
    assert (result.text, result.stop_reason) == (STOP_TEXTS[StopReason.EMPTY], StopReason.EMPTY)


async def test_limits_count_the_steps_of_earlier_processes() -> None:
    """Otherwise a turn that crashes for ever would also run for ever."""
    before = await stopped(STEP)
    recorded = before.recorded()
    host = before.resumed(recorded)
    result = await go_on(ScriptedModel(), host, recorded, TurnLimits(1, 0, 1000.0))
    assert (result.stop_reason, result.tools_used) == (
        StopReason.MAX_STEPS,
        ("add", "look", "rm"),
    )


async def test_unfinished_call_of_a_tool_that_is_gone_still_runs() -> None:
    """The journal decides what may run; the offer may have changed with the version."""
    before = MemoryHost(drain_after=1)
    step = calls(call("a", "add", x=1))
    await Loop(turn(TurnLimits(8, 0, 1000.0)), ScriptedModel(step), before, lambda: 0.0).run()
    recorded = before.recorded(lambda _: False)
    host = before.resumed(recorded)
    bare = LoopRequest("t1", PROMPT, (), (), TurnLimits(8, 0, 1000.0))
    result = await Loop(bare, ScriptedModel(says("done")), host, lambda: 0.0).run(recorded)
    assert (result.text, host.ran) == ("done", [2])


IDS = st.sampled_from(["", "a", "a_2", "call_0", "leaked_0"])
NAMES = st.sampled_from(["add", "look", "rm"])
ARGUMENTS = st.sampled_from([{}, {"x": 1}, {"x": "5"}, {"x": "no"}])
CALLS = st.builds(
    ToolCall,
    id=IDS,
    name=NAMES,
    arguments=ARGUMENTS,
    malformed=st.sampled_from([None, None, None, "{x:"]),
)
TEXTS = st.sampled_from(["", " ", "<think>x</think>", '{"name": "look", "parameters": {}}'])
RESPONSES = st.builds(
    ModelResponse,
    st.builds(AssistantMessage, content=TEXTS, tool_calls=st.lists(CALLS, max_size=40).map(tuple)),
)
PAST = st.sampled_from(
    [
        (),
        (
            UserMessage(content="hi"),
            AssistantMessage(tool_calls=(call("a", "look"),)),
            ToolResult(call_id="a", name="look", content="look"),
            AssistantMessage(content="hello"),
        ),
    ]
)


@given(past=PAST, script=st.lists(RESPONSES, max_size=5), data=st.data())
def test_model_always_sees_a_well_formed_transcript(
    past: tuple[Message, ...], script: list[ModelResponse], data: st.DataObject
) -> None:
    """Whatever the model wrote, and wherever the process died, each call has its one result."""
    cut = data.draw(st.integers(0, len(script)), label="steps before the crash")
    survived = data.draw(st.sets(st.integers(1, 200)), label="results that were stored")
    request = turn(TurnLimits(8, 0, 1000.0), past)

    async def run() -> None:
        end = says("done")
        first, second = (ScriptedModel(*part, end, end) for part in (script[:cut], script[cut:]))
        before = MemoryHost(drain_after=cut)
        with time_limit():
            await Loop(request, first, before, lambda: 0.0).run()
            recorded = before.recorded(
                lambda seq: seq in survived or before.planned[seq].rejected is not None
            )
            host = before.resumed(recorded)
            result = await Loop(request, second, host, lambda: 0.0).run(recorded)
        assert all(well_formed(made.messages) for made in (*first.requests, *second.requests))
        assert result.text
        assert result.stop_reason in {StopReason.DONE, StopReason.EMPTY}
        assert not set(host.ran) & survived & set(before.results)

    anyio.run(run)
