"""Schemas are sent unchanged, except to servers that check arguments before coercion."""

import pytest
from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec, turn_run

from thinker.agent import Agent
from thinker.protocol.env import ThinkerSettings


@pytest.mark.parametrize(
    ("provider", "shown"), [("openai", "integer"), ("groq", ["integer", "string"])]
)
async def test_only_groq_sees_relaxed_schemas_and_arguments_are_coerced_for_all(
    provider: str, shown: object
) -> None:
    """Groq refuses "5" for a number itself, so its models are told that text is fine."""
    model = ScriptedModel(calls(call("c1", "add", n="5")), says("done"))
    host = MemoryHost()
    tool = spec("add", n="integer")
    required = tool.model_copy(update={"parameters": {**tool.parameters, "required": ["n"]}})
    agent = Agent(ThinkerSettings(llm_provider=provider), model)

    await agent.run_turn(turn_run("add 5", required), host)

    properties = model.requests[0].tools[0].parameters["properties"]
    assert isinstance(properties, dict)
    assert properties["n"] == {"type": shown}
    assert next(iter(host.planned.values())).arguments == {"n": 5}
