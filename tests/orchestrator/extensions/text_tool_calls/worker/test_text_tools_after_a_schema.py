"""Tools as text after a refused schema."""

from dataclasses import replace

from fakes.scripted import ScriptedModel, says, spec

from thinker.models.base import ModelRequest
from thinker.models.failures import Account, ProviderError, build_failure
from thinker.models.retry import FallbackModel
from thinker.models.structured import StructuredOutput
from thinker.protocol.messages import JsonObject, UserMessage
from thinker.protocol.providers import PROVIDERS

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0}},
    "required": ["n"],
}


ASKED = ModelRequest("Be brief.", (UserMessage(content="how many?"),), output=SCHEMA)


WITH_TOOLS = replace(ASKED, tools=(spec("add"),))


OPENAI = Account(PROVIDERS["openai"], "m")


async def test_refusal_where_no_schema_was_sent_is_over_the_tools() -> None:
    """An unreadable grammar of tools costs the tools, not the answer."""
    refused = build_failure(OPENAI, 500, ProviderError("Failed to parse grammar"))
    inner = ScriptedModel(refused, says("in words"))
    model = FallbackModel([StructuredOutput(inner, "auto", beside_tools=True)])
    answer = await model.complete(replace(WITH_TOOLS, output=None))
    assert answer.message.content == "in words"
    assert [len(request.tools) for request in inner.requests] == [1, 0]
