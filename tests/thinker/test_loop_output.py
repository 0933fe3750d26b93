"""A contract in the loop: a valid answer ends the turn, an invalid one is retried."""

import asyncio
import threading

from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec
from fakes.time_limit import time_limit

from thinker.answers.verdict import AnswerAccepted, AnswerValidator
from thinker.budget import TurnLimits
from thinker.formats.prompts.slots import SlotPrompt
from thinker.loop import Loop, LoopRequest
from thinker.models.base import Model
from thinker.prompt.render.output_contract import build_answer_contract
from thinker.prompt.render.slot_sections import lower_slot_prompt
from thinker.protocol.messages import AUTO, NO_TOOLS, UserMessage
from thinker.protocol.methods import RecordedStep, StopReason, TurnResult
from thinker.protocol.notices import STOP_TEXTS
from thinker.protocol.prompt_record import PromptRecord

SLOTS = SlotPrompt.model_validate(
    {
        "input": "x",
        "output": {"n": (int, "a number"), "items": ([{"id": (int,)}], "all", [])},
        "options": {"ensure_keys": ["items[*].id"], "max_retries": 2},
    }
)


CONTRACT = build_answer_contract(lower_slot_prompt(SLOTS, "test"))


async def run(
    model: Model,
    host: MemoryHost,
    recorded: tuple[RecordedStep, ...] = (),
    contract: AnswerValidator | None = CONTRACT,
) -> TurnResult:
    """A turn whose answer is under contract."""
    request = LoopRequest(
        "t1",
        PromptRecord(layers=()),
        (UserMessage(content="do it"),),
        (spec("add"),),
        TurnLimits(max_steps=8, max_tokens=0, deadline=1000.0),
        contract=contract,
    )
    with time_limit():
        return await Loop(request, model, host, lambda: 0.0).run(recorded)


async def test_an_answer_that_fits_is_the_reply_as_json() -> None:
    """Without the prose around it, after whatever tools were needed."""
    model = ScriptedModel(calls(call("a", "add")), says('Here: {"n": "3", "items": {"id": 1}} !'))
    result = await run(model, MemoryHost())
    assert result.stop_reason is StopReason.DONE
    assert (result.text, result.repaired) == ('{"n":3,"items":[{"id":1}]}', False)


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_its_faults() -> None:
    """The answer and its faults stay in the transcript."""
    model = ScriptedModel(says('{"n": "x"}'), says('{"n": 1}'), says('{"n": 1, "items": []}'))
    result = await run(model, MemoryHost())
    assert result.text == '{"n":1,"items":[]}'
    second, third = ([m.content for m in sent.messages] for sent in model.requests[1:])
    assert second[1] == '{"n": "x"}'
    assert "- n: Input should be a valid integer" in second[2]
    assert "- items[*].id is missing" in third[4]


async def test_every_request_has_the_schema_and_the_second_asks_for_the_answer_alone() -> None:
    """Many servers enforce a schema only if no tool may be called."""
    model = ScriptedModel(says('{"n": "x"}'), says('{"n": 1, "items": []}'))
    await run(model, MemoryHost())
    first, second = model.requests
    assert first.output == second.output
    assert first.output is not None
    assert first.output["required"] == ["n"]
    assert (first.tool_choice, second.tool_choice) == (AUTO, NO_TOOLS)


async def test_the_retries_are_bounded_and_the_failure_says_why() -> None:
    """Two retries were allowed."""
    model = ScriptedModel(*(says("no JSON") for _ in range(3)))
    result = await run(model, MemoryHost())
    assert (result.stop_reason, result.text) == (
        StopReason.OUTPUT,
        STOP_TEXTS[StopReason.OUTPUT],
    )
    assert result.error == "it holds no JSON"
    assert len(model.requests) == 3


async def test_an_answer_that_the_provider_cut_is_no_answer() -> None:
    """Even if the repaired part would match; an answer that the model left open is repaired."""
    cut = '{"items": [], "n": 12'
    model = ScriptedModel(says(cut, finish="length"), says(cut))
    result = await run(model, MemoryHost())
    assert "cut off at the length limit" in model.requests[1].messages[-1].content
    assert (result.text, result.repaired) == ('{"n":12,"items":[]}', True)


async def test_recorded_answers_count_when_the_turn_goes_on() -> None:
    """A worker that takes over retries as often as the first one would have."""
    host = MemoryHost()
    await run(ScriptedModel(says("no"), says("no"), says("no")), host)
    model = ScriptedModel()
    result = await run(model, MemoryHost(), host.recorded())
    assert result.stop_reason is StopReason.OUTPUT
    assert model.requests == []


class PatientContract:
    """Judges only when something else has happened in the worker meanwhile."""

    max_retries = 0
    schema = None

    def __init__(self) -> None:
        self.begun, self.happened = threading.Event(), threading.Event()

    def validate_answer(self, text: str, *, whole: bool = True) -> AnswerAccepted:
        self.begun.set()
        return AnswerAccepted({"went on": self.happened.wait(10), "of": text}, repaired=not whole)


async def test_other_chats_go_on_while_an_answer_is_judged() -> None:
    """To search a long answer for JSON can take seconds."""
    contract = PatientContract()

    async def other_chat() -> None:
        await asyncio.to_thread(contract.begun.wait, 10)
        contract.happened.set()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(other_chat())
        result = await run(ScriptedModel(says("a")), MemoryHost(), contract=contract)
    assert result.text == '{"went on":true,"of":"a"}'
