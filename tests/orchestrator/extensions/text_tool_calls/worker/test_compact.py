"""The short description of tools for models that write their calls as text."""

import json

import pytest
from fakes.scripted import spec

from orchestrator.extensions.text_tool_calls.worker.compact import (
    build_short_example,
    format_compact_block,
    format_compact_call,
    format_signature,
)
from orchestrator.extensions.text_tool_calls.worker.parser import TextCallParser, TextToolCall
from orchestrator.extensions.text_tool_calls.worker.payload import build_parser_rules
from orchestrator.tools.host_tools import list_own_tools
from thinker.protocol.messages import AUTO, JsonObject, SideEffect, ToolChoice, ToolSpec
from thinker.protocol.token_counts import estimate_tokens
from thinker.toolcalls.schema_validation import check_against_schema

USUAL = (
    "find_tools",
    "get_time",
    "read_skill",
    "schedule_task",
    "search_memories",
    "store_fact",
)

TOOLS = list_own_tools()
MOST = 560  # tokens, estimated, of the block with the usual tools


def tool(parameters: JsonObject, description: str = "Does it.") -> ToolSpec:
    """A tool with a schema."""
    return ToolSpec(name="do", description=description, parameters=parameters)


def fields(required: tuple[str, ...] = (), **properties: JsonObject) -> JsonObject:
    """The schema of an object."""
    return {"type": "object", "properties": {**properties}, "required": [*required]}


def test_usual_tools_take_a_small_part_of_a_small_window() -> None:
    """A window of 2,048 tokens has room for a conversation beside them."""
    block = format_compact_block([TOOLS[name].spec for name in USUAL], AUTO)
    assert estimate_tokens(len(block)) <= MOST
    assert all(block.count(f"\n- {name}(") == 1 for name in USUAL)


def test_without_tools_there_is_no_block() -> None:
    """Whatever the choice."""
    assert format_compact_block((), ToolChoice(mode="required")) == ""


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        (fields(), ""),
        (fields(("a",), a={"type": "string"}, b={"type": "integer"}), "a; b?: integer"),
        (fields(("a",), a={"enum": ["x", 2]}, b={"const": True}), 'a: "x"|2; b?: true'),
        (fields(a={"type": "array", "items": {"type": "number"}}), "a?: [number]"),
        (
            fields(a={"type": ["array", "string"], "items": {"type": "string"}}),
            "a?: [string]|string",
        ),
        (fields(("a",), a=fields(("b",), b={"type": "string"}, c={})), "a: {b; c?: any}"),
        (fields(a={"anyOf": [{"type": "string"}, {"type": "null"}]}), "a?: string|null"),
        (fields(a={"type": "string", "description": "One;\n two."}), "a?: One, two"),
        ({}, ""),
    ],
)
def test_tool_is_one_line_like_a_function(parameters: JsonObject, shown: str) -> None:
    """Each name once, with what the schema says of it."""
    assert format_signature(tool(parameters)) == f"do({shown}) - Does it."


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": 3, "properties": [], "required": 7},
        {"properties": {"a": True, "b": None, "c": {"type": [], "items": 4, "anyOf": [1]}}},
    ],
)
def test_odd_schema_is_described_as_far_as_it_can_be(parameters: JsonObject) -> None:
    """A tool server may send anything."""
    block = format_compact_block((tool(parameters),), AUTO)
    assert block.splitlines()[-1].startswith("- do(")


def test_deep_schema_is_cut() -> None:
    """A schema within a schema without end takes no more room than a few levels."""
    deep: JsonObject = {"type": "string"}
    for _ in range(60):
        deep = fields(("a",), a=deep)
    assert len(format_signature(tool(deep))) < 60


@pytest.mark.parametrize("name", [*USUAL, "send_message", "update_fact", "spawn_subagent"])
def test_example_of_a_built_in_tool_fits_its_schema(name: str) -> None:
    """And names no two ways to say the same."""
    about = TOOLS[name].spec
    example = build_short_example(about)
    assert check_against_schema(example, about.parameters) is None
    times = {"schedule", "interval_minutes", "at", "in_minutes", "in_hours"} & example.keys()
    assert len(times) == (name == "schedule_task")


@pytest.mark.parametrize("strict", [True, False])
def test_example_in_the_block_is_read_as_the_call_that_it_is(*, strict: bool) -> None:
    """With arguments as an object, also for a strict tool, and in a list as some models write."""
    about = spec("add", a="integer").model_copy(update={"strict": strict})
    call = format_compact_call("add", '{"a":1}')
    for written in (call, call.replace("{", "[{", 1).replace("}<", "}]<")):
        parser = TextCallParser(build_parser_rules((about,), AUTO, plain=True))
        events = [*parser.feed(written), *parser.finish()]
        assert [json.loads(one.arguments) for one in events if isinstance(one, TextToolCall)] == [
            {"a": 1}
        ]


def test_choice_is_said_before_the_tools() -> None:
    """As in the long format."""
    block = format_compact_block((spec("add"),), ToolChoice(mode="function", name="add"))
    assert 'you MUST call "add".\n- add(' in block


def test_example_is_the_first_choice_of_a_tool_that_changes_nothing() -> None:
    """A model that only repeats it does no harm."""
    reads = tool(fields(a={"type": "string", "examples": ["Berlin"]}))
    reads = reads.model_copy(update={"side_effect": SideEffect.PURE})
    writes = tool(fields(a={"examples": ["x"]})).model_copy(update={"name": "write"})
    block = format_compact_block((writes, spec("add"), reads), AUTO)
    assert format_compact_call("do", '{"a":"Berlin"}') in block
