"""Agents whose tools are offered as text."""

from fakes.scripted import ScriptedModel, spec, turn_run

from orchestrator.extensions.text_tool_calls.worker.text_tools import TextTools
from thinker.agent import Agent
from thinker.protocol.env import ThinkerSettings


def settings(**fields: object) -> ThinkerSettings:
    """Settings of an agent without files."""
    return ThinkerSettings.model_validate({"agent_id": "a", **fields})


async def test_preview_begins_with_the_block_of_tools_as_text() -> None:
    """``prompt show`` shows what the model would see."""
    turn = turn_run("hello", spec("add"))
    native = (await Agent(settings(), ScriptedModel()).preview_prompt(turn)).record
    text = (await Agent(settings(), TextTools(ScriptedModel())).preview_prompt(turn)).record
    assert [layer.name for layer in text.layers] == [
        "tool_calls",
        *(layer.name for layer in native.layers),
    ]
    assert text.text.startswith("## Tools\n")
