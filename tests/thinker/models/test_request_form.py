"""The form of a request after refusals: tools stay, one by one plainer."""

from typing import Any

import pytest
from fakes.openai_api import OpenAIApi
from fakes.scripted import spec
from fakes.strict_api import StrictApi

from thinker.models.base import ModelRequest
from thinker.models.failures import HistoryRefusedError, SchemaRefusedError
from thinker.models.openai_chat import OpenAIChat
from thinker.models.request_form import LEFT_OUT, REMEMBERED, RequestForm, find_named_tools
from thinker.protocol.messages import (
    AssistantMessage,
    Extras,
    JsonObject,
    Reasoning,
    ToolChoice,
    ToolSpec,
    UserMessage,
)
from thinker.protocol.providers import PROVIDERS

UNION: JsonObject = {"type": "object", "anyOf": [{"properties": {"a": {"type": "string"}}}]}
PLAIN, ODD = spec("plain", a="string"), spec("odd").model_copy(update={"parameters": UNION})
TOOLS = (ODD, PLAIN)


def ask(*tools: ToolSpec, **fields: Any) -> ModelRequest:
    """A request with tools."""
    return ModelRequest(system="", messages=(UserMessage(content="q"),), tools=tools, **fields)


def refuse(words: str) -> SchemaRefusedError:
    """A refusal of a schema."""
    return SchemaRefusedError(f"x refused: {words}", words)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("Invalid schema for function 'plain': no", ["plain"]),
        ("tools.1.custom.input_schema: no", ["plain"]),
        ("at 'tools[0].function_declarations[1].parameters'", ["plain"]),
        ("tools[0].function.parameters", ["odd"]),
        ("failed to parse grammar", []),
        ("the tool odd is bad", ["odd"]),
    ],
)
def test_a_refusal_names_a_tool_by_its_name_or_number(words: str, named: list[str]) -> None:
    """Gemini counts its declarations, which are all in one tool."""
    assert [tool.name for tool in find_named_tools(words, TOOLS)] == named


def test_a_refused_tool_goes_down_alone_and_is_left_out_last() -> None:
    """The other one stays as it is; all that is told has the provider's words."""
    form: RequestForm | None = RequestForm()
    request = ask(*TOOLS, tool_choice=ToolChoice(mode="function", name="odd"))
    seen = []
    for _ in range(5):
        assert form is not None
        sent = form.apply(request)
        seen.append([tool.name for tool in sent.tools])
        form = form.find_next(refuse("Invalid schema for function 'odd'"), request) or form
    assert seen[0] == ["odd", "plain"]
    assert seen[-1] == ["plain"]
    assert form is not None
    assert form.apply(request).tools == (PLAIN,)
    assert form.apply(request).tool_choice == ToolChoice()
    (lost,) = form.list_degradations(TOOLS)
    assert (lost.subject, lost.what) == ("odd", "left out")
    assert "Invalid schema" in lost.words


def test_without_a_name_every_schema_that_can_be_plainer_becomes_so() -> None:
    """Once all are plain, the oddest half is left out, and never the last tool."""
    request = ask(*TOOLS)
    form = RequestForm().find_next(refuse("grammar"), request)
    assert form is not None
    assert form.ranks == {"odd": 1}
    forms = [form]
    while (following := forms[-1].find_next(refuse("grammar"), request)) is not None:
        forms.append(following)
    assert forms[-1].ranks["odd"] == LEFT_OUT
    assert [tool.name for tool in forms[-1].apply(request).tools] == ["plain"]


def test_a_refused_history_loses_what_came_with_it_then_its_order() -> None:
    """Missing reasoning is filled in first; then nothing is left to try."""
    answer = AssistantMessage(content="a", extras=Extras(origin="x", fields={"r": "1"}))
    request = ModelRequest(system="", messages=(UserMessage(content="q"), answer))
    form = RequestForm()
    seen: list[tuple[Any, ...]] = []
    for words in ("reasoning_content is missing", "reasoning_content is missing", "no", "no"):
        following = form.find_next(HistoryRefusedError("x", words), request)
        assert following is not None
        form = following
        seen.append((form.filler, form.extras, form.joined))
    assert seen == [
        ("", True, False),
        ("(not kept)", True, False),
        ("(not kept)", False, False),
        ("(not kept)", False, True),
    ]
    assert form.find_next(HistoryRefusedError("x", "no"), request) is None


async def test_a_form_is_remembered_for_a_day() -> None:
    """Later requests are right at once; then the schema is tried as it is."""

    def refuses(body: dict[str, Any]) -> str | None:
        odd = any("anyOf" in tool["function"]["parameters"] for tool in body["tools"])
        return "Invalid schema for function 'odd': anyOf" if odd else None

    async with StrictApi(refuses) as api:
        model = OpenAIChat(PROVIDERS["groq"], "m", f"{api.url}/v1", "key")
        now = 1000.0
        model._endpoint.clock = lambda: now
        counts = []
        for passed in (0.0, 1.0, REMEMBERED):
            now += passed
            response = await model.complete(ask(*TOOLS))
            assert [one.subject for one in response.degraded] == ["odd"]
            counts.append(len(api.requests))
        await model.aclose()
    assert counts == [2, 3, 5]


async def test_lone_surrogates_are_left_out_of_a_request() -> None:
    """A tool's result may have them; JSON for providers may not."""
    async with OpenAIApi() as api:
        model = OpenAIChat(PROVIDERS["groq"], "m", f"{api.url}/v1", "key")
        said = UserMessage.model_construct(content="a\ud800b\0c")
        bad = PLAIN.model_copy(update={"description": "c\ud800d"})
        await model.complete(ModelRequest(system="", messages=(said,), tools=(ODD, bad)))
        await model.aclose()
    assert api.requests[0].body["messages"][0]["content"] == "abc"
    assert api.requests[0].body["tools"][1]["function"]["description"] == "cd"


@pytest.mark.parametrize(
    ("model", "recorded", "lost"), [("openai/gpt-oss-20b", "low", []), ("llama", "", ["effort"])]
)
async def test_effort_of_a_call_is_recorded_with_it_unless_it_was_refused(
    model: str, recorded: str, lost: list[str]
) -> None:
    """The trace shows it beside the tokens; a refused one is told as lost."""

    def refuses(body: dict[str, Any]) -> str | None:
        wrong = body["model"] == "llama" and "reasoning_effort" in body
        return "reasoning_effort is not supported with this model" if wrong else None

    async with StrictApi(refuses) as api:
        asked = ask(reasoning=Reasoning(effort="low"))
        one = OpenAIChat(PROVIDERS["groq"], model, f"{api.url}/v1", "key")
        response = await one.complete(asked)
        await one.aclose()
    assert asked.meter.build_timing().effort == recorded
    assert [found.subject for found in response.degraded] == lost
