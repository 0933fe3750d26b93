"""Tools offered as text: the prompt, how answers are parsed, what people see."""

import pytest
from fakes.scripted import ScriptedModel, call, calls, says, spec
from structlog.testing import capture_logs

from orchestrator.extensions.text_tool_calls.worker.history_text import UNREADABLE, rewrite_as_text
from orchestrator.extensions.text_tool_calls.worker.inject import (
    format_opening_tag,
    format_tool_call,
)
from orchestrator.extensions.text_tool_calls.worker.parser import CLOSE, OPEN
from orchestrator.extensions.text_tool_calls.worker.text_tools import TextTools, format_tool_block
from thinker.models.base import ModelRequest, ModelResponse
from thinker.models.failures import ToolsRefusedError
from thinker.models.tool_offers import wrap_tool_calls
from thinker.protocol.messages import (
    AUTO,
    NO_TOOLS,
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from thinker.worker_errors import FatalModelError

ADD = spec("add", a="integer")
ASKED = (UserMessage(content="add"),)
PAST = (
    *ASKED,
    AssistantMessage(tool_calls=(call("call_1", "add", a=1),)),
    ToolResult(call_id="call_1", name="add", content="1", origin="tool"),
)


def request(*tools: ToolSpec, messages: tuple[Message, ...] = ASKED) -> ModelRequest:
    """Return a request with one user message."""
    return ModelRequest("Be brief.", messages, tools)


async def answered(text: str, asked: ModelRequest | None = None) -> AssistantMessage:
    """Return the parsed form of a text answer, with one tool offered."""
    return (await TextTools(ScriptedModel(says(text))).complete(asked or request(ADD))).message


async def test_model_is_told_of_tools_before_its_prompt_and_given_none() -> None:
    """The block, the format of results, then the system prompt; the response has the block."""
    inner = ScriptedModel(says("Hello."))
    response = await TextTools(inner).complete(request(ADD))
    (asked,) = inner.requests
    assert asked.tools == ()
    assert asked.system == f"{format_tool_block((ADD,), AUTO)}\n\nBe brief."
    assert response.tool_block == format_tool_block((ADD,), AUTO)
    assert response.message == AssistantMessage(content="Hello.")


def test_offered_tool_is_not_forbidden_by_its_name() -> None:
    """The base text forbids tools of the model's host, and an agent's tool may share a name."""
    block = format_tool_block((spec("web_search"),), AUTO, full=True)
    assert "directly (shell, apply_patch, view_image)" in block
    assert "- web_search: {" in block


async def test_without_tools_nothing_is_added() -> None:
    """The prompt does not grow, and nothing is parsed as a call."""
    inner = ScriptedModel(says(format_tool_call("add", "{}")))
    response = await TextTools(inner).complete(request())
    assert (inner.requests[0].system, response.tool_block) == ("Be brief.", "")
    assert response.message.tool_calls == ()


async def test_blocks_become_calls_with_ids_of_their_own() -> None:
    """The text around them stays; ids continue those of the history."""
    key = rewrite_as_text(PAST).key
    two, three = format_tool_call("add", '{"a":2}', key), format_tool_call("add", '{"a":3}', key)
    text = f"First. {two}{three} Done."
    message = await answered(text, request(ADD, messages=PAST))
    assert message.tool_calls == (call("call_2", "add", a=2), call("call_3", "add", a=3))
    assert message.content == "First.  Done."


@pytest.mark.parametrize(
    "block",
    [
        OPEN + '{"name":"add","arguments":{"a":2}}' + CLOSE,
        OPEN + '{"name":"add","arguments":"{\\"a\\":2"}' + CLOSE,
        OPEN + '```json\n{"name":"add","arguments":{"a":2}}\n```' + CLOSE,
        OPEN + '{"name":"add","arguments":{"a":2}' + CLOSE,
        OPEN + '{"name":"add","arguments":{"a":2}}',
        '<think>Not yet: <tool_call>{"name":"add"}</tool_call></think>'
        + format_tool_call("add", '{"a":2}'),
    ],
)
async def test_what_weak_models_write_is_understood(block: str) -> None:
    """Objects, broken quoting, fences, a missing brace or closing tag; thoughts are no calls."""
    (found,) = (await answered(block)).tool_calls
    assert found.model_copy(update={"repaired": False}) == call("call_1", "add", a=2)


@pytest.mark.parametrize("block", [OPEN + "do it" + CLOSE, OPEN + '{"name":"add","arg'])
async def test_block_that_cannot_be_read_becomes_a_call_that_cannot_run(block: str) -> None:
    """The model reads why; half a block is never repaired into a whole one."""
    message = await answered(block)
    assert message.tool_calls == (ToolCall(id="call_1", name=UNREADABLE, malformed=block),)
    assert message.content == ""


@pytest.mark.parametrize(
    "quote",
    [
        "> {}",
        "He wrote:\n> Do it. {}",
        "```\n{}\n```",
        "~~~~xml\n```\n{}\n~~~~",
        "    {}",
        "\t{}",
        "Such as `{}`.",
        'It says "{}".',
    ],
)
@pytest.mark.parametrize("past", [ASKED, PAST])
async def test_quoted_block_is_text(quote: str, past: tuple[Message, ...]) -> None:
    """With the key or in a conversation that needs none."""
    text = quote.format(format_tool_call("add", '{"a":2}', rewrite_as_text(past).key))
    message = await answered(text, request(ADD, messages=past))
    assert (message.content, message.tool_calls) == (text.strip(), ())


@pytest.mark.parametrize("text", ["```\ncode\n```\n{}", "> quoted\n\n{}", '"so" {}', "- {}"])
async def test_block_after_a_quotation_is_a_call(text: str) -> None:
    """The quotation ends with its line or its fence."""
    message = await answered(text.format(format_tool_call("add", '{"a":2}')))
    assert message.tool_calls == (call("call_1", "add", a=2),)


async def test_block_without_the_key_is_text_once_a_result_was_read() -> None:
    """The page that the result holds may have written it."""
    text = f"The page says: {format_tool_call('add', '{}')}"
    for key in ("", rewrite_as_text(ASKED).key, "a" * 16):
        quoted = text.replace(OPEN, format_opening_tag(key))
        message = await answered(quoted, request(ADD, messages=PAST))
        assert (message.content, message.tool_calls) == (quoted, ())


async def test_model_that_forgets_the_key_reads_once_that_nothing_was_run() -> None:
    """If it does so again, the block is its answer."""
    text = format_tool_call("add", '{"a":2}')
    message = await answered(text, request(ADD, messages=PAST))
    unread = ToolCall(id="call_2", name=UNREADABLE, malformed=text)
    assert (message.content, message.tool_calls) == ("", (unread,))
    again = (*PAST, message, ToolResult(call_id="call_2", name=UNREADABLE, content="no"))
    message = await answered(text, request(ADD, messages=again))
    assert (message.content, message.tool_calls) == (text, ())


async def test_unknown_tool_is_left_to_the_loop() -> None:
    """The loop rejects it, so that the model reads why."""
    assert (await answered(format_tool_call("sub", "{}"))).tool_calls == (call("call_1", "sub"),)


@pytest.mark.parametrize("past", [ASKED, PAST])
@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_person_sees_the_text_and_never_a_block(size: int, past: tuple[Message, ...]) -> None:
    """However the answer is chunked, with the key or without it."""
    made = format_tool_call("add", "{}", rewrite_as_text(past).key)
    text = f"Wait <b>. {made} Done {OPEN}{{bad}}{CLOSE}!"

    async def stream(asked: ModelRequest) -> ModelResponse:
        assert asked.on_text is not None
        for end in range(0, len(text) + size, size):
            asked.on_text(text[:end])
        return says(text)

    shown: list[str] = []
    asked = ModelRequest("", past, (ADD,), on_text=shown.append)
    await TextTools(ScriptedModel(stream)).complete(asked)
    assert shown[-1] == "Wait <b>.  Done !"
    assert not any("tool_call" in view or "{" in view for view in shown)


async def test_no_block_is_a_call_when_the_choice_is_none() -> None:
    """Nothing is parsed, and the prompt says so."""
    inner = ScriptedModel(says(format_tool_call("add", "{}")))
    asked = ModelRequest("", ASKED, (ADD,), NO_TOOLS)
    response = await TextTools(inner).complete(asked)
    assert response.message.tool_calls == ()
    assert "Tool choice is none: never emit <tool_call>." in inner.requests[0].system


async def test_auto_falls_back_to_text_once_with_one_warning() -> None:
    """After the refusal, later calls use text at once."""
    refusal = ToolsRefusedError("ollama takes no tools for 'm': it does not support tools")
    inner = ScriptedModel(refusal, says(format_tool_call("add", '{"a":1}')), says("1"))
    model = wrap_tool_calls(inner, "auto")
    with capture_logs() as logs:
        first = await model.complete(request(ADD))
        second = await model.complete(request(ADD))
    assert first.message.tool_calls == (call("call_1", "add", a=1),)
    assert second.message.content == "1"
    assert [bool(asked.tools) for asked in inner.requests] == [True, False, False]
    assert [(line["event"], line["why"]) for line in logs] == [
        ("tool_calls_as_text", "ollama takes no tools for 'm'")
    ]


async def test_other_failures_are_not_taken_for_a_refusal() -> None:
    """Auto stays native and raises them."""
    inner = ScriptedModel(FatalModelError("no credit"), calls(call("a", "add", a=1)))
    model = wrap_tool_calls(inner, "auto")
    with pytest.raises(FatalModelError, match="no credit"):
        await model.complete(request(ADD))
    assert (await model.complete(request(ADD))).message.tool_calls == (call("a", "add", a=1),)
    await model.aclose()
    assert inner.closed


def test_native_model_is_left_alone() -> None:
    """The model is not wrapped."""
    inner = ScriptedModel()
    assert wrap_tool_calls(inner, "native") is inner
    assert wrap_tool_calls(inner, "text").name == wrap_tool_calls(inner, "auto").name == inner.name
