"""A worker in a trial is served from the record."""

import pytest
from fakes.replayed import FullPurse, answered, host_of, made, replayed

from orchestrator.extensions.workbench.matching import CallKey
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.extensions.workbench.trial_host import CallAnswer, TrialHost
from thinker.protocol.messages import AssistantMessage, JsonObject, ToolResult, UserMessage
from thinker.protocol.methods import PlannedCall, RecordedStep
from thinker.protocol.peer import RpcError

LOOKED: tuple[str, JsonObject] = ("look", {"q": "a"})


async def test_call_gets_its_recorded_result_under_its_new_id() -> None:
    """With the journal numbers of the trial's own steps."""
    host = host_of(replayed(made("look", "sunny", q="a"), "Hi."))
    committed = await host.commit_step(answered("", LOOKED, digest="digest 0"))
    result = committed.results[committed.call_seqs[0]]
    assert (result.call_id, result.content) == ("new0", "sunny")
    await host.commit_step(answered("Hi.", digest="digest 1"))
    assert [step.exact for step in host.steps] == [True, True]
    assert [step.usd for step in host.steps] == [0.5, 0.5]
    assert not host.stopped


async def test_other_bytes_and_further_requests_are_not_exact() -> None:
    """A request that the record has not is one of them."""
    host = host_of(replayed("Hi."))
    await host.commit_step(answered("Hello.", digest="other"))
    assert [step.exact for step in host.steps] == [False]


async def test_call_without_record_stops_the_run_with_its_key() -> None:
    """Also the calls beside it that have one are kept in the report."""
    host = host_of(replayed(made("look", "sunny", q="a"), "Hi."))
    with pytest.raises(RpcError):
        await host.commit_step(answered("", LOOKED, ("look", {"q": "b"})))
    assert host.unanswered
    assert host.stopped.startswith("look has no record (look/")
    assert [call.source for call in host.steps[0].calls] == ["recorded", "none"]


async def test_rejected_call_is_answered_by_the_worker() -> None:
    """It counts neither as made nor as missing."""
    host = host_of(replayed(made("look", "sunny", q="a"), "Hi."))
    committed = await host.commit_step(answered("", LOOKED, rejected="q is wrong"))
    assert committed.results == {}
    assert [call.source for call in host.steps[0].calls] == ["rejected"]
    assert not host.stopped


async def test_answer_before_the_record_hides_it() -> None:
    """As when the file that a call reads is what is tried."""

    async def find_first(call: PlannedCall, key: CallKey) -> CallAnswer:
        del key
        result = ToolResult(call_id=call.id, name=call.name, content="new text")
        return CallAnswer("file", result)

    host = host_of(replayed(made("look", "sunny", q="a"), "Hi."), find_first=find_first)
    committed = await host.commit_step(answered("", LOOKED))
    assert [one.content for one in committed.results.values()] == ["new text"]
    assert [call.source for call in host.steps[0].calls] == ["file"]


async def test_run_stops_before_a_call_that_cannot_be_paid() -> None:
    """The step before it is kept."""
    turn = replayed(made("look", "sunny", q="a"), "Hi.")
    host = host_of(turn, purse=FullPurse(limit=1))
    with pytest.raises(RpcError):
        await host.commit_step(answered("", LOOKED))
    assert (host.spent, host.stopped) == (True, "the money is spent")
    assert len(host.steps) == 1


def handed_over() -> RecordedTurn:
    """A turn whose second request another agent made."""
    turn = replayed(made("look", "sunny", q="a"), "Hi.")
    other = turn.parts[0].model_copy(update={"agent_id": "home"})
    later = turn.requests[1].model_copy(update={"part": 1})
    update = {"parts": (*turn.parts, other), "requests": (turn.requests[0], later)}
    return turn.model_copy(update=update)


async def test_run_ends_at_a_handoff() -> None:
    """The other agent's prompt is another one."""
    host = host_of(handed_over())
    with pytest.raises(RpcError):
        await host.commit_step(answered("", LOOKED))
    assert "handed over to home" in host.stopped
    assert not host.unanswered


async def test_messages_join_after_the_same_request() -> None:
    """Once, and those of no other request."""
    turn = replayed(made("look", "sunny", q="a"), "Hi.")
    (part,) = turn.parts
    entered = (UserMessage(content="and tomorrow?"),)
    first = part.steps[0].model_copy(update={"entered": entered})
    part = part.model_copy(update={"steps": (first, *part.steps[1:])})
    host = host_of(turn.model_copy(update={"parts": (part,)}))
    assert await host.take_new_messages() == ()
    await host.commit_step(answered("", LOOKED))
    assert await host.take_new_messages() == entered
    assert await host.take_new_messages() == ()
    assert host.raw[0].entered == entered


def resumed(host: TrialHost, **fields: object) -> TrialHost:
    """The same run, gone on with later."""
    return host_of(host.turn, steps=[*host.steps], raw=[*host.raw], **fields)


async def test_waiting_run_goes_on_with_a_typed_result() -> None:
    """The call is asked for by its number; the report says that a person typed it."""
    host = host_of(replayed("Hi."))
    with pytest.raises(RpcError):
        await host.commit_step(answered("", ("look", {"q": "b"})))

    async def find_last(call: PlannedCall, key: CallKey) -> CallAnswer:
        del key
        return CallAnswer("typed", ToolResult(call_id=call.id, name=call.name, content="rain"))

    later = resumed(host, find_last=find_last)
    (call,) = later.raw[0].calls
    result = await later.call_tool(call.seq)
    assert (result.call_id, result.content) == ("new0", "rain")
    (tried,) = later.steps[0].calls
    assert (tried.source, tried.result) == ("typed", "rain")
    again = resumed(host)
    with pytest.raises(RpcError):
        await again.call_tool(call.seq)
    assert again.unanswered


async def test_kept_responses_count_as_made() -> None:
    """Equal calls after them are further ones."""
    turn = replayed(made("look", "first", q="a"), made("look", "second", q="a"), "Hi.")
    kept = RecordedStep(seq=1, response=AssistantMessage())
    run = host_of(turn).run.model_copy(update={"steps": (kept,)})
    host = host_of(turn, run=run, first=1)
    committed = await host.commit_step(answered("", LOOKED, digest="digest 1"))
    assert [one.content for one in committed.results.values()] == ["second"]
    assert host.steps[0].exact
