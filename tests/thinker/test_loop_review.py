"""An answer that claims what was not done goes back to the model once."""

from collections.abc import Collection, Sequence
from math import inf

import pytest
from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec
from fakes.time_limit import time_limit

from thinker.answers.review import DOUBTED, AnswerReview
from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.models.base import ModelResponse
from thinker.protocol.messages import AUTO, Message, ToolResult, ToolSpec, UserMessage
from thinker.protocol.methods import (
    RETURNED,
    RecordedStep,
    StepCommit,
    StepCommitted,
    StopReason,
    TurnResult,
)
from thinker.protocol.prompt_record import PromptRecord
from thinker.request_rehearsal import RehearsedModel, capture_next_request
from thinker.worker_errors import FatalModelError

TOLD = "no mail was sent"
LIMITS = TurnLimits(max_steps=8, max_tokens=0, deadline=1000.0)
LIE, TRUTH = says("Sent."), says("I have not sent it.")


class MailJudge:
    """Objects to "Sent." unless a call was made; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def find_false_claims(
        self, text: str, messages: Sequence[Message], tools: Collection[ToolSpec]
    ) -> str:
        """Return the objection."""
        assert [tool.name for tool in tools] == ["mail"]
        self.asked += 1
        done = any(isinstance(one, ToolResult) for one in messages)
        return TOLD if text == "Sent." and not done else ""


def review(until: float = 800.0) -> AnswerReview:
    """A review by such a judge."""
    return AnswerReview(MailJudge(), until)


def turn(limits: TurnLimits = LIMITS, reviewed: AnswerReview | None = None) -> LoopRequest:
    """A turn that is asked to send a mail."""
    return LoopRequest(
        "t1",
        PromptRecord(layers=()),
        (UserMessage(content="send it"),),
        (spec("mail"),),
        limits,
        review=reviewed,
    )


async def run(
    model: ScriptedModel,
    host: MemoryHost,
    recorded: tuple[RecordedStep, ...] = (),
    *,
    limits: TurnLimits = LIMITS,
    reviewed: AnswerReview | None = None,
    now: float = 0.0,
) -> TurnResult:
    """A turn whose answer is reviewed."""
    with time_limit():
        return await Loop(turn(limits, reviewed), model, host, lambda: now).run(recorded)


async def test_a_false_claim_goes_back_with_the_facts_and_the_tools() -> None:
    """The model may do now what it said, and its next answer is judged by that."""
    model, host = ScriptedModel(LIE, calls(call("a", "mail")), LIE), MemoryHost()
    result = await run(model, host, reviewed=review())
    assert (result.text, result.stop_reason, result.steps) == ("Sent.", StopReason.DONE, 3)
    assert [one.content for one in model.requests[1].messages[-2:]] == ["Sent.", TOLD]
    assert model.requests[1].tool_choice == AUTO
    assert [one.step.finish for one in host.commits] == [RETURNED, "done", "done"]
    assert [one.step.ends is not None for one in host.commits] == [False, False, True]


async def test_an_answer_goes_back_only_once() -> None:
    """What the model says again stands."""
    model, host = ScriptedModel(LIE, LIE), MemoryHost()
    result = await run(model, host, reviewed=review())
    assert (result.text, result.steps) == ("Sent.", 2)


async def test_a_true_answer_costs_no_further_call() -> None:
    """It is judged and ends the turn."""
    reviewed, host = review(), MemoryHost()
    result = await run(ScriptedModel(TRUTH), host, reviewed=reviewed)
    assert (result.text, result.steps) == (TRUTH.message.content, 1)
    assert host.commits[0].step.ends == result


@pytest.mark.parametrize(
    ("limits", "until", "answer"),
    [
        (LIMITS._replace(max_steps=1), 800.0, LIE),
        (LIMITS._replace(max_tokens=15), 800.0, LIE),
        (LIMITS, 100.0, LIE),
        (LIMITS, 800.0, says("Sent.", finish="length")),
    ],
    ids=["last step", "no tokens", "no time", "cut"],
)
async def test_an_answer_stands_without_room_for_another(
    limits: TurnLimits, until: float, answer: ModelResponse
) -> None:
    """A late answer is better than none."""
    model = ScriptedModel(answer)
    result = await run(model, MemoryHost(), limits=limits, reviewed=review(until), now=500.0)
    assert result.text.startswith("Sent.")
    assert len(model.requests) == 1


async def test_a_resumed_turn_sends_back_the_same_answer_and_no_other() -> None:
    """The journal has that it went back; neither time nor limits decide again."""
    host = MemoryHost(drain_after=1)
    assert (await run(ScriptedModel(LIE), host, reviewed=review())).stop_reason is (
        StopReason.DRAINED
    )
    model = ScriptedModel(LIE)
    result = await run(model, MemoryHost(), host.recorded(), reviewed=review(until=0.0))
    assert (result.text, result.steps) == ("Sent.", 2)
    assert model.requests[0].messages[-1].content == TOLD


async def test_the_request_after_an_answer_that_went_back_can_be_made_again() -> None:
    """The same as was sent, from the journal alone."""
    model, host = ScriptedModel(LIE, TRUTH), MemoryHost()
    await run(model, host, reviewed=review())
    again, recorded = ScriptedModel(), host.recorded()[:1]
    endless = turn(LIMITS._replace(deadline=inf), review())
    await capture_next_request(endless, RehearsedModel(again), recorded)
    assert again.rehearsed[0].messages == model.requests[1].messages


async def test_an_answer_that_another_version_sent_back_is_asked_for_again() -> None:
    """Even if this one would not object."""
    host = MemoryHost(drain_after=1)
    await run(ScriptedModel(LIE), host, reviewed=review())
    model = ScriptedModel(TRUTH)
    result = await run(model, MemoryHost(), host.recorded())
    assert result.text == TRUTH.message.content
    assert model.requests[0].messages[-1].content == DOUBTED


@pytest.mark.parametrize("failure", [FatalModelError("down"), says(""), says(finish="refused")])
async def test_an_answer_that_went_back_stands_if_no_other_comes(
    failure: ModelResponse | Exception,
) -> None:
    """A chat hears nothing about a failure when there is an answer."""
    model = ScriptedModel(LIE, failure, says(""))
    result = await run(model, MemoryHost(), reviewed=review())
    assert (result.text, result.stop_reason, result.notice) == ("Sent.", StopReason.DONE, False)


class FrugalHost(MemoryHost):
    """Allows no further call after an answer that goes back, as when the budget is used up."""

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        """T3."""
        committed = await super().commit_step(commit)
        return committed.model_copy(update={"stands": commit.finish == RETURNED})


async def test_an_answer_stands_if_the_budget_allows_no_other() -> None:
    """The turn ends with it instead of waiting for the end of a pause."""
    model, host = ScriptedModel(LIE), FrugalHost()
    result = await run(model, host, reviewed=review())
    assert (result.text, result.stop_reason) == ("Sent.", StopReason.DONE)
    assert len(model.requests) == 1


async def test_nothing_is_judged_without_a_review() -> None:
    """As for an agent without receipts."""
    result = await run(ScriptedModel(LIE), MemoryHost())
    assert result.text == "Sent."
