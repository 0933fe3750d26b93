"""Turns up to their first model call, which is not made."""

import pytest
from fakes.scripted import ScriptedModel, call, calls, says, spec, turn_run

from thinker.agent import Agent
from thinker.models.base import ModelRequest, RehearsedRequest
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import ToolChoice


async def test_turn_that_asks_no_model_has_no_request() -> None:
    """Its prompt is shown all the same."""
    turn = turn_run("hello", tool_choice=ToolChoice(mode="required"))
    found = await Agent(ThinkerSettings(agent_id="a"), ScriptedModel()).preview_prompt(turn)
    assert found.request == ""
    assert found.record.layers


async def test_rehearsal_changes_nothing_for_the_next_turn() -> None:
    """The model's answers are still to come."""
    model = ScriptedModel(calls(call("a", "add")), says("Done."))
    agent = Agent(ThinkerSettings(agent_id="a"), model)
    turn = turn_run("hello", spec("add"))
    assert await agent.preview_prompt(turn) == await agent.preview_prompt(turn)
    assert model.requests == []
    with pytest.raises(RehearsedRequest):
        await model.complete(ModelRequest(system="", messages=(), rehearsed=True))
