"""How an agent presents its tools to the model, and which tools a turn may require."""

from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec, turn_run

from thinker.agent import Agent
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import AUTO, ToolChoice
from thinker.toolcalls.select import CAP


def settings(**fields: object) -> ThinkerSettings:
    """Settings of an agent without files."""
    return ThinkerSettings.model_validate({"agent_id": "a", **fields})


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
