"""Tools as text beside a schema of the answer."""

from dataclasses import replace

from fakes.scripted import ScriptedModel, says, spec

from orchestrator.extensions.text_tool_calls.worker.text_tools import TextTools
from thinker.models.base import ModelRequest
from thinker.protocol.messages import JsonObject, UserMessage

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0}},
    "required": ["n"],
}


ASKED = ModelRequest("Be brief.", (UserMessage(content="how many?"),), output=SCHEMA)


WITH_TOOLS = replace(ASKED, tools=(spec("add"),))


def sent(model: ScriptedModel) -> list[bool]:
    """Return which of the requests had a schema."""
    return [request.output is not None for request in model.requests]


async def test_tools_as_text_and_a_schema_exclude_each_other() -> None:
    """A schema would prevent the model from writing a call."""
    inner = ScriptedModel(says("x"), says("y"))
    await TextTools(inner).complete(WITH_TOOLS)
    await TextTools(inner).complete(ASKED)
    assert sent(inner) == [False, True]
