"""How an agent presents its tools to the model, and which tools a turn may require."""

from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec, turn_run

from orchestrator.extensions.text_tool_calls.worker.text_tools import TextTools
from thinker.agent import Agent
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import AUTO, ToolChoice
from thinker.toolcalls.select import CAP


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


async def test_forced_tool_is_offered_whatever_the_text_says() -> None:
    """Also when more tools than fit match the message better."""
    many = [spec(f"weather_{number}") for number in range(CAP + 5)]
    turn = turn_run(
        "weather", *many, spec("add"), tool_choice=ToolChoice(mode="function", name="add")
    )
    model = ScriptedModel(calls(call("a", "add")), says("Done."))
    result = await Agent(settings(), model).run_turn(turn, MemoryHost())
    assert result.text == "Done."
    assert [sent.tool_choice.mode for sent in model.requests] == ["function", AUTO.mode]
