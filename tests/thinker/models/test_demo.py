"""The demo model drives the tools by rules and says that it is the demo."""

import pytest

from thinker.models.base import ModelRequest
from thinker.models.demo import ABILITIES, LABEL, DemoModel
from thinker.protocol.messages import (
    AssistantMessage,
    JsonObject,
    Message,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)

TOOLS = tuple(
    ToolSpec(name=name, description="", parameters={})
    for name in ("get_time", "store_fact", "search_memories", "read_skill")
)
SKILLS = (
    "Base.\n\n<available_skills>\n  <skill>\n    <name>code-review</name>\n    <description>x"
    "</description>\n  </skill>\n  <skill>\n    <name>a&amp;b</name>\n  </skill>\n"
    "</available_skills>"
)
EARLIER: tuple[Message, ...] = (UserMessage(content="hi"), AssistantMessage(content="hello"))


async def say(
    text: str, *after: Message, system: str = "", tools: tuple[ToolSpec, ...] = TOOLS
) -> AssistantMessage:
    """Return the answer to ``text`` in a chat that has already begun."""
    messages = (*EARLIER, UserMessage(content=text), *after)
    request = ModelRequest(system=system, messages=messages, tools=tools)
    return (await DemoModel().complete(request)).message


def result(name: str, content: str, *, is_error: bool = False) -> ToolResult:
    """A tool's result."""
    return ToolResult(call_id="demo_0", name=name, content=content, is_error=is_error)


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("What time is it?", "get_time", {}),
        ("what's the date today", "get_time", {}),
        ("Tell me the time, please", "get_time", {}),
        (
            "Remember that the time is odd.",
            "store_fact",
            {"fact": "the time is odd", "category": "background"},
        ),
        (
            "please remember: my name is Ada",
            "store_fact",
            {"fact": "User's name is Ada", "category": "background"},
        ),
        (
            "Hello, my name is Ada!",
            "store_fact",
            {"fact": "User's name is Ada", "category": "background"},
        ),
        (
            "I like green tea.",
            "store_fact",
            {"fact": "User likes green tea", "category": "preference"},
        ),
        ("What do you know about me?", "search_memories", {"query": "user"}),
        ("what do you remember", "search_memories", {"query": "user"}),
        ("What do you know about green tea?", "search_memories", {"query": "green tea"}),
        ("What is my name?", "search_memories", {"query": "name"}),
        ("what do I like?", "search_memories", {"query": "like"}),
        ("do you remember my birthday", "search_memories", {"query": "birthday"}),
        ("read skill code-review", "read_skill", {"name": "code-review"}),
        ("Use the skill `code-review` now", "read_skill", {"name": "code-review"}),
    ],
)
async def test_a_rule_calls_its_tool(text: str, tool: str, arguments: JsonObject) -> None:
    """An ordinary sentence reaches each ability."""
    assert await say(text) == AssistantMessage(
        tool_calls=(ToolCall(id="demo_0", name=tool, arguments=arguments),)
    )


@pytest.mark.parametrize(
    ("name", "content", "answer"),
    [
        ("get_time", "14:30", "It is 14:30."),
        ("store_fact", "stored", "I will remember that. (stored)"),
        ("search_memories", "- User's name is Ada", "User's name is Ada"),
        ("search_memories", " ", "found nothing"),
        ("read_skill", "Step 1 {not a field}", "Step 1 {not a field}"),
        ("other", "42", "The tool answered: 42"),
    ],
)
async def test_a_tools_result_becomes_the_answer(name: str, content: str, answer: str) -> None:
    """The loop's second call sees the result and reports it."""
    message = await say("What time is it?", AssistantMessage(), result(name, content))
    assert answer in message.content
    assert message.tool_calls == ()


async def test_a_failed_tool_is_reported() -> None:
    """An error result is not repeated as an answer."""
    failed = result("get_time", "unknown time zone", is_error=True)
    message = await say("What time is it?", AssistantMessage(), failed)
    assert message.content == "The tool get_time failed: unknown time zone"


async def test_a_tool_that_is_not_offered_is_not_called() -> None:
    """Policy may withhold it."""
    message = await say("What time is it?", tools=())
    assert message.tool_calls == ()
    assert "get_time" in message.content


async def test_skills_are_listed_from_the_prompt() -> None:
    """The names are in the prompt's block, escaped."""
    message = await say("Which skills do you have?", system=SKILLS)
    assert message.content == "These skills are available:\n- code-review\n- a&b"
    assert "No skills" in (await say("list skills")).content


async def test_anything_else_is_echoed_with_what_it_can_do() -> None:
    """A person learns what to try."""
    assert (await say("Good morning")).content == f"You said: Good morning\n\n{ABILITIES}"


@pytest.mark.parametrize("after", [(), (AssistantMessage(), result("get_time", "noon"))])
async def test_the_first_reply_of_a_chat_says_that_it_is_the_demo(
    after: tuple[Message, ...],
) -> None:
    """Also when a tool was called on the way; later replies do not repeat it."""
    request = ModelRequest(system="", messages=(UserMessage(content="hi"), *after))
    first = (await DemoModel().complete(request)).message.content
    assert first.endswith(LABEL)
    assert LABEL not in (await say("hi")).content


async def test_a_first_reply_that_is_a_call_has_no_label() -> None:
    """The label belongs to the text that the person reads last."""
    request = ModelRequest(
        system="", messages=(UserMessage(content="what time is it"),), tools=TOOLS
    )
    assert (await DemoModel().complete(request)).message.content == ""


async def test_text_streams_word_by_word() -> None:
    """Streaming can be tried without a key."""
    shown: list[str] = []
    request = ModelRequest(
        system="", messages=(*EARLIER, UserMessage(content="a b")), on_text=shown.append
    )
    response = await DemoModel().complete(request)
    assert shown[:3] == ["You ", "You said: ", "You said: a "]
    assert shown[-1] == response.message.content


async def test_usage_is_estimated_and_an_empty_request_is_answered() -> None:
    """Four characters a token; without a message it lists its abilities."""
    model = DemoModel()
    response = await model.complete(ModelRequest(system="12345", messages=()))
    assert response.usage.prompt == 2
    assert response.usage.completion == -(-len(response.message.content) // 4)
    assert (model.name, response.model) == ("demo/demo", "demo/demo")
    await model.aclose()


async def test_offered_tool_is_called_by_its_name_with_what_follows() -> None:
    """The rest is its first input; the name of an absent tool is an ordinary word."""
    inputs: JsonObject = {"type": "object", "properties": {"task": {"type": "string"}}}
    tools = (*TOOLS, ToolSpec(name="researcher", description="", parameters=inputs))
    for text in ("ask researcher: what time is it?", "Please ask the researcher what time is it?"):
        (call,) = (await say(text, tools=tools)).tool_calls
        assert (call.name, call.arguments) == ("researcher", {"task": "what time is it?"})
    (call,) = (await say("ask somebody what time is it?", tools=tools)).tool_calls
    assert call.name == "get_time"
    (call,) = (await say("use get_time", tools=tools)).tool_calls
    assert (call.name, call.arguments) == ("get_time", {})
