"""Tools that the model finds during a turn."""

import pytest
from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec
from fakes.time_limit import time_limit

from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.protocol.messages import JsonObject, UserMessage
from thinker.protocol.prompt_record import PromptRecord
from thinker.toolcalls.select import FINDER

REST = (spec("add", x="number"), spec("look"), spec("zip"))
FIND, ADD = calls(call("f", FINDER)), calls(call("a", "add", x=1))


async def find(arguments: JsonObject) -> str:
    """Two tools, one of which there is not."""
    del arguments
    return "Offered now:\n- add\n- gone"


def turn(*, relax: bool = False) -> LoopRequest:
    """A turn with the finder and one other tool; the rest can be found."""
    offered, said = (spec(FINDER), spec("mail")), (UserMessage(content="do it"),)
    limits = TurnLimits(8, 0, 1000.0)
    return LoopRequest("t1", PromptRecord(layers=()), said, offered, limits, relax=relax, rest=REST)


def names(model: ScriptedModel) -> list[list[str]]:
    """What each request offered."""
    return [[tool.name for tool in request.tools] for request in model.requests]


async def test_found_tool_is_offered_in_the_next_step_and_stays() -> None:
    """In the order of names, as other turns offer it."""
    model = ScriptedModel(FIND, ADD, calls(call("g", FINDER)), says("done"))
    host = MemoryHost({FINDER: find})
    with time_limit():
        await Loop(turn(), model, host, lambda: 0.0).run()
    more = ["add", FINDER, "mail"]
    assert names(model) == [[FINDER, "mail"], more, more, more]


async def test_resumed_turn_offers_what_was_found_before() -> None:
    """The recorded results say it."""
    host = MemoryHost({FINDER: find}, drain_after=1)
    await Loop(turn(), ScriptedModel(FIND), host, lambda: 0.0).run()
    recorded = host.recorded()
    model = ScriptedModel(ADD, says("done"))
    with time_limit():
        await Loop(turn(), model, host.resumed(recorded), lambda: 0.0).run(recorded)
    assert names(model)[0] == ["add", FINDER, "mail"]


@pytest.mark.parametrize("relax", [False, True])
async def test_tool_called_by_its_name_alone_runs_and_is_offered_from_then_on(
    *, relax: bool
) -> None:
    """A model may know it from the finder's description; its arguments are checked all the same."""
    wrong = calls(call("a", "add", x="one"), call("b", "look"))
    model, host = ScriptedModel(wrong, says("done")), MemoryHost()
    with time_limit():
        await Loop(turn(relax=relax), model, host, lambda: 0.0).run()
    assert [host.planned[seq].name for seq in host.ran] == ["look"]
    assert names(model)[1] == ["add", FINDER, "look", "mail"]
    types = model.requests[1].tools[0].parameters["properties"]
    assert types == {"x": {"type": ["number", "string"] if relax else "number"}}
