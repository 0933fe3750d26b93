"""The tool loop: what the model receives, what is committed, how a turn ends."""

from dataclasses import replace

import anyio
import pytest
from fakes.scripted import (
    NAME,
    USAGE,
    MemoryHost,
    ScriptedModel,
    call,
    calls,
    says,
    spec,
)
from fakes.time_limit import time_limit

from thinker.budget import TurnLimits
from thinker.loop import NO_SETTINGS, REPEATED_NOTE, Loop, LoopRequest
from thinker.models.base import ModelRequest, ModelResponse
from thinker.protocol.messages import (
    AUTO,
    NO_TOOLS,
    RESULT_LIMIT,
    JsonObject,
    LayerRecord,
    ToolResult,
    ToolSpec,
    UserMessage,
    cap_result,
)
from thinker.protocol.methods import Finish, StopReason, TurnResult
from thinker.protocol.notices import CUT_NOTE, STOP_TEXTS
from thinker.protocol.prompt_record import PromptRecord
from thinker.worker_errors import (
    AccountError,
    ContextOverflowError,
    FatalModelError,
    RetryableModelError,
)

FOREVER = TurnLimits(max_steps=8, max_tokens=0, deadline=1000.0)
SETTINGS = NO_SETTINGS.model_copy(update={"temperature": 0.4})
PROMPT = PromptRecord(layers=(LayerRecord(name="base", text="You help."),), settings=SETTINGS)


def request(*tools: ToolSpec, limits: TurnLimits = FOREVER, stream: bool = False) -> LoopRequest:
    """Return a turn's request."""
    messages = (UserMessage(content="do it"),)
    return LoopRequest("t1", PROMPT, messages, tools, limits, stream)


async def run(
    model: ScriptedModel, host: MemoryHost, turn: LoopRequest | None = None
) -> TurnResult:
    """Run a turn whose clock stands at 0."""
    with time_limit():
        return await Loop(turn or request(), model, host, lambda: 0.0).run()


async def test_text_is_the_answer_and_is_committed_first() -> None:
    """The simplest turn: one model call, one commit, one answer."""
    model, host = ScriptedModel(says("Hello.")), MemoryHost()
    result = await run(model, host)
    assert result == TurnResult(
        text="Hello.", stop_reason=StopReason.DONE, usage=USAGE, steps=1, tools_used=()
    )
    (committed,) = host.commits
    assert committed.step.response.content == "Hello."
    assert (committed.step.model, committed.step.prompt) == (NAME, PROMPT)
    assert committed.step.ends == result
    sent = model.requests[0]
    assert (sent.system, sent.tool_choice, sent.temperature) == ("You help.", AUTO, 0.4)


async def test_each_step_has_the_timing_of_its_own_call() -> None:
    """Measured by what the request carried to the model."""
    model, host = ScriptedModel(calls(call("a", "add", x=1)), says("2")), MemoryHost()
    await run(model, host, request(spec("add", x="number")))
    for committed, asked in zip(host.commits, model.requests, strict=True):
        timing = committed.step.timing
        assert timing is not None
        assert timing.model_copy(update={"ended": 0}) == asked.meter.build_timing().model_copy(
            update={"ended": 0}
        )


async def test_result_of_a_call_reaches_the_model() -> None:
    """Query, commit, execute, query; the prompt is sent with the first commit alone."""
    model = ScriptedModel(calls(call("a", "add", x=1), text="Adding."), says("2"))
    host = MemoryHost()
    result = await run(model, host, request(spec("add", x="number")))
    assert (result.text, result.steps, result.tools_used) == ("2", 2, ("add",))
    assert model.requests[1].messages[2:] == (ToolResult(call_id="a", name="add", content="add"),)
    assert [committed.step.prompt for committed in host.commits] == [PROMPT, None]


async def test_only_the_step_that_nothing_can_follow_says_that_it_ends_the_turn() -> None:
    """After calls, or an empty answer, the model is called again."""
    model, host = ScriptedModel(calls(call("a", "add", x=1)), says(""), says("2")), MemoryHost()
    result = await run(model, host, request(spec("add")))
    assert [committed.step.ends for committed in host.commits] == [None, None, result]


async def test_coerced_arguments_are_what_is_committed() -> None:
    """The journal holds what will run; the response stays as the model wrote it."""
    model = ScriptedModel(calls(call("a", "add", x="5", y=None)), says("ok"))
    host = MemoryHost()
    await run(model, host, request(spec("add", x="number")))
    step = host.commits[0].step
    assert step.calls[0].arguments == {"x": 5, "y": None}
    assert step.response.tool_calls[0].arguments == {"x": "5", "y": None}


async def test_reused_call_ids_are_told_apart_for_the_model() -> None:
    """Some servers number calls from zero in each response; providers reject repeated ids."""
    again = calls(call("call_0", "add"))
    model = ScriptedModel(again, again, says("done"))
    await run(model, MemoryHost(), request(spec("add")))
    results = [m.call_id for m in model.requests[2].messages if isinstance(m, ToolResult)]
    assert results == ["call_0", "call_0_2"]


async def test_last_step_may_not_call_tools() -> None:
    """The model must answer; a call that it makes anyway does not run."""
    step = calls(call("a", "add"))
    model, host = ScriptedModel(step, step), MemoryHost()
    result = await run(model, host, request(spec("add"), limits=TurnLimits(2, 0, 1000.0)))
    assert [sent.tool_choice for sent in model.requests] == [AUTO, NO_TOOLS]
    assert result.stop_reason is StopReason.MAX_STEPS
    assert result.text == STOP_TEXTS[StopReason.MAX_STEPS]
    assert len(host.ran) == 1
    assert "last step" in str(host.commits[1].step.calls[0].rejected)


async def test_answer_in_the_last_step_is_given_with_its_reason() -> None:
    """A summary forced by the limit is still the answer."""
    model = ScriptedModel(calls(call("a", "add")), says("So far: 1."))
    limited = request(spec("add"), limits=TurnLimits(2, 0, 1000.0))
    result = await run(model, MemoryHost(), limited)
    assert (result.text, result.stop_reason) == ("So far: 1.", StopReason.MAX_STEPS)


async def test_turn_of_one_step_that_answers_is_done() -> None:
    """A limit of one step is enough if one step was needed."""
    result = await run(
        ScriptedModel(says("Hi.")), MemoryHost(), request(limits=TurnLimits(1, 0, 1000.0))
    )
    assert result.stop_reason is StopReason.DONE


async def test_token_limit_ends_the_turn_before_the_next_step() -> None:
    """Only used tokens count."""
    model = ScriptedModel(calls(call("a", "add")))
    limited = request(spec("add"), limits=TurnLimits(8, USAGE.total, 1000.0))
    result = await run(model, MemoryHost(), limited)
    assert (result.stop_reason, result.usage) == (StopReason.MAX_TOKENS, USAGE)
    assert result.text == STOP_TEXTS[StopReason.MAX_TOKENS]


async def test_passed_deadline_asks_no_model() -> None:
    """A turn that waited too long ends without a model call."""
    model = ScriptedModel()
    late = Loop(request(), model, MemoryHost(), lambda: 1000.0)
    result = await late.run()
    assert (result.stop_reason, model.requests) == (StopReason.DEADLINE, [])


async def test_model_that_never_answers_is_left_at_the_deadline() -> None:
    """The deadline also bounds the model call; nothing of it is committed."""
    seen: list[ModelRequest] = []

    async def hang(sent: ModelRequest) -> ModelResponse:
        seen.append(sent)
        await anyio.sleep_forever()
        raise AssertionError

    host = MemoryHost()
    limited = request(limits=TurnLimits(8, 0, 0.01))
    result = await run(ScriptedModel(hang), host, limited)
    assert (result.text, result.stop_reason) == (
        STOP_TEXTS[StopReason.DEADLINE],
        StopReason.DEADLINE,
    )
    assert (len(seen), host.commits) == (1, [])


@pytest.mark.parametrize("nothing", ["", " \n", "<think>Hm.</think>"])
async def test_empty_answer_is_asked_for_once_more(nothing: str) -> None:
    """Blank text and bare reasoning are no answer; they are not sent back to the model."""
    model = ScriptedModel(says(nothing), says("Now."))
    result = await run(model, MemoryHost())
    assert (result.text, result.steps) == ("Now.", 2)
    assert model.requests[1].messages == model.requests[0].messages


async def test_two_empty_answers_end_the_turn_with_a_text() -> None:
    """The user reads a fallback text."""
    result = await run(ScriptedModel(says(), says()), MemoryHost())
    assert (result.text, result.stop_reason) == (STOP_TEXTS[StopReason.EMPTY], StopReason.EMPTY)


@pytest.mark.parametrize(
    ("text", "shown"), [("", STOP_TEXTS[StopReason.REFUSED]), ("I can't help with that.",) * 2]
)
async def test_refusal_is_said_and_not_repeated(text: str, shown: str) -> None:
    """The model's own words are used if there are any."""
    result = await run(ScriptedModel(says(text, finish="refused")), MemoryHost())
    assert (result.text, result.stop_reason) == (shown, StopReason.REFUSED)


@pytest.mark.parametrize(("finish", "note"), [("length", CUT_NOTE), ("repeated", REPEATED_NOTE)])
async def test_cut_answer_says_why_it_was_cut(finish: Finish, note: str) -> None:
    """Half an answer is better than none, when it is marked."""
    result = await run(ScriptedModel(says("Once upon", finish=finish)), MemoryHost())
    assert (result.text, result.stop_reason) == (f"Once upon{note}", StopReason.LENGTH)


async def test_reasoning_is_taken_out_of_the_answer() -> None:
    """The user sees the answer; the journal keeps what the model wrote."""
    host = MemoryHost()
    result = await run(ScriptedModel(says("<think>Hm.</think>Yes.")), host)
    assert result.text == "Yes."
    assert host.commits[0].step.response.content == "<think>Hm.</think>Yes."


LEAKED = '{"name": "add", "parameters": {"x": "5"}}'


async def test_call_written_as_the_whole_answer_is_run() -> None:
    """A leaked call of an offered tool becomes a call."""
    host = MemoryHost()
    model = ScriptedModel(says(LEAKED), says("5"))
    result = await run(model, host, request(spec("add", x="number")))
    assert result.text == "5"
    step = host.commits[0].step
    assert (step.response.content, step.calls[0].arguments) == ("", {"x": 5})


@pytest.mark.parametrize("quote", [f"The page says: {LEAKED}", f"```json\n{LEAKED}\n```"])
async def test_quoted_call_is_an_answer(quote: str) -> None:
    """The model shows it to the user; it does not run."""
    host = MemoryHost()
    result = await run(ScriptedModel(says(quote)), host, request(spec("add", x="number")))
    assert (result.text, host.commits[0].step.calls) == (quote, ())


async def test_call_that_was_read_in_a_page_is_not_run() -> None:
    """Even a bare one may be what the page says."""
    host = MemoryHost()
    read = UserMessage(content=f"Repeat this: {LEAKED}", origin="web")
    asked = replace(request(spec("add", x="number")), messages=(read,))
    result = await run(ScriptedModel(says(LEAKED)), host, asked)
    assert (result.text, host.commits[0].step.calls) == (LEAKED, ())


async def test_refused_key_ends_the_run_until_a_person_acts() -> None:
    """The text for the chat does not quote the provider."""
    model = ScriptedModel(AccountError("groq refused the key; set GROQ_API_KEY: bad sk-1"))
    result = await run(model, MemoryHost())
    assert result.stop_reason is StopReason.ACCOUNT
    assert result.text == "groq refused the key; set GROQ_API_KEY"


@pytest.mark.parametrize("error", [RetryableModelError("overloaded"), FatalModelError("no model")])
async def test_model_error_ends_the_turn_and_keeps_its_steps(error: Exception) -> None:
    """The user gets a calm text, the operator the reason; the steps so far are committed."""
    host = MemoryHost()
    model = ScriptedModel(calls(call("a", "add")), error)
    result = await run(model, host, request(spec("add")))
    assert (result.stop_reason, result.error) == (StopReason.MODEL_ERROR, str(error))
    assert result.text == STOP_TEXTS[StopReason.MODEL_ERROR]
    assert (result.steps, len(host.commits)) == (1, 1)


async def test_request_that_is_too_long_says_that_less_helps() -> None:
    """To try again would not."""
    model = ScriptedModel(ContextOverflowError("more than gpt reads"))
    result = await run(model, MemoryHost())
    assert (result.stop_reason, result.error) == (StopReason.OVERFLOW, "more than gpt reads")
    assert result.text == STOP_TEXTS[StopReason.OVERFLOW]


async def test_draining_stops_at_the_step_boundary() -> None:
    """The running step finishes with its tools; another process runs the next one."""
    host = MemoryHost(drain_after=1)
    model = ScriptedModel(calls(call("a", "add")))
    result = await run(model, host, request(spec("add")))
    assert (result.stop_reason, result.text) == (StopReason.DRAINED, "")
    assert list(host.results) == host.ran == [2]


async def test_long_result_is_shortened_for_the_model_alone() -> None:
    """The journal has it whole."""
    long = "x" * (RESULT_LIMIT + 1)

    async def read(arguments: JsonObject) -> str:
        del arguments
        return long

    host = MemoryHost({"read": read})
    model = ScriptedModel(calls(call("a", "read")), says("ok"))
    await run(model, host, request(spec("read")))
    seen = model.requests[1].messages[-1]
    note = f"\n[shortened: the result has {len(long)} characters]"
    assert seen.content == "x" * (RESULT_LIMIT - len(note)) + note
    assert cap_result(seen) == seen
    assert host.results[2].content == long


@pytest.mark.parametrize("stream", [True, False])
async def test_text_is_shown_while_it_grows_when_asked_for(stream: bool) -> None:  # noqa: FBT001 - pytest passes parameters by name
    """The answer does not depend on it."""

    async def words(sent: ModelRequest) -> ModelResponse:
        if sent.on_text is not None:
            sent.on_text("Hel")
        return says("Hello")

    host = MemoryHost()
    await run(ScriptedModel(words), host, request(stream=stream))
    assert host.shown == (["Hel"] if stream else [])
