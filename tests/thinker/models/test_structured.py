"""The schema of an answer: which requests have it, and what follows a refusal."""

from dataclasses import replace

import pytest
from fakes.openai_api import OpenAIApi
from fakes.scripted import ScriptedModel, says, spec
from structlog.testing import capture_logs

from thinker.models.base import ModelRequest
from thinker.models.choose import choose_model
from thinker.models.failures import Account, OutputRefusedError, ProviderError, build_failure
from thinker.models.openai_chat import build_request_body as openai_body
from thinker.models.structured import MAX_REFUSED, StructuredOutput
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import NO_TOOLS, JsonObject, UserMessage
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import RetryableModelError

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0}},
    "required": ["n"],
}
TOLD: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
ASKED = ModelRequest("Be brief.", (UserMessage(content="how many?"),), output=SCHEMA)
WITH_TOOLS = replace(ASKED, tools=(spec("add"),))
OPENAI = Account(PROVIDERS["openai"], "m")


def sent(model: ScriptedModel) -> list[bool]:
    """Return which of the requests had a schema."""
    return [request.output is not None for request in model.requests]


def test_openai_is_sent_it_strictly_and_a_looser_one_as_it_is() -> None:
    """A schema with a map cannot be strict."""
    assert openai_body(OPENAI, ASKED)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": TOLD, "strict": True},
    }
    loose: JsonObject = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert openai_body(OPENAI, replace(ASKED, output=loose))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": loose, "strict": False},
    }


async def test_refusal_is_followed_by_words_and_remembered() -> None:
    """For this schema; another one is sent."""
    refused = OutputRefusedError("openai does not take the schema: bad words")
    inner = ScriptedModel(refused, says("1"), says("2"), says("3"))
    model = StructuredOutput(inner, "auto", beside_tools=True)
    with capture_logs() as logs:
        for request in (ASKED, ASKED, replace(ASKED, output=TOLD)):
            await model.complete(request)
    assert sent(inner) == [True, False, False, True]
    assert [line["event"] for line in logs] == ["output_schema_refused"]


async def test_model_that_refuses_every_schema_is_sent_no_more() -> None:
    """A refusal does not count if the request also failed without a schema."""
    refused = OutputRefusedError("no")
    script = [entry for n in range(MAX_REFUSED) for entry in (refused, says(str(n)))]
    inner = ScriptedModel(refused, RetryableModelError("busy"), *script, says("end"))
    model = StructuredOutput(inner, "auto", beside_tools=True)
    with pytest.raises(RetryableModelError):
        await model.complete(ASKED)
    for number in range(MAX_REFUSED + 1):
        await model.complete(replace(ASKED, output={**SCHEMA, "title": str(number)}))
    assert sent(inner) == [True, False] * (MAX_REFUSED + 1) + [False]


async def test_servers_whose_models_would_call_no_tool_are_sent_it_without_tools_alone() -> None:
    """If the choice is none, or no tools are offered; ``native`` always sends it."""
    inner = ScriptedModel(*(says("x") for _ in range(5)))
    model = StructuredOutput(inner, "auto", beside_tools=False)
    for request in (WITH_TOOLS, replace(WITH_TOOLS, tool_choice=NO_TOOLS), ASKED):
        await model.complete(request)
    await StructuredOutput(inner, "native", beside_tools=False).complete(WITH_TOOLS)
    await StructuredOutput(inner, "text", beside_tools=True).complete(ASKED)
    assert sent(inner) == [False, True, True, True, False]
    refusing = ScriptedModel(OutputRefusedError("no"))
    with pytest.raises(OutputRefusedError):
        await StructuredOutput(refusing, "native", beside_tools=False).complete(ASKED)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Invalid schema for response_format 'answer'"),
        (400, "This model does not support response format `json_schema`"),
        (400, "output_config: Extra inputs are not permitted"),
        (400, "'claude-3-haiku-20240307' does not support structured outputs"),
        (400, "Failed to parse grammar"),
        (500, "failed to load model vocabulary required for format"),
        (400, "json mode cannot be combined with tool/function calling"),
    ],
)
def test_refusals_are_known_by_their_words(status: int, words: str) -> None:
    """Those of OpenAI, Groq, Anthropic, llama.cpp and Ollama."""
    error = build_failure(OPENAI, status, ProviderError(words))
    assert isinstance(error, OutputRefusedError)


@pytest.mark.parametrize(("way", "sends"), [("auto", False), ("native", True), ("text", False)])
async def test_setting_of_the_agent_decides(*, way: str, sends: bool) -> None:
    """With tools; a custom address is not taken for OpenAI's server."""
    async with OpenAIApi() as api:
        settings = ThinkerSettings.model_validate(
            {
                "llm_provider": "openai",
                "model": "m",
                "base_url": f"{api.url}/v1",
                "structured_output": way,
            }
        )
        model = choose_model(settings, {})
        await model.complete(WITH_TOOLS)
        await model.aclose()
    assert ("response_format" in api.requests[0].body) is sends
