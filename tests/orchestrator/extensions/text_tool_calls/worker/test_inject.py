"""The text of the tool-call block, and how it describes tools."""

import json

import pytest
from fakes.scripted import spec
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.text_tool_calls.worker.inject import (
    BASE,
    INTERNAL,
    format_call_block,
    format_tool_call,
    join_instructions,
)
from orchestrator.extensions.text_tool_calls.worker.parser import TextCallParser, TextToolCall
from orchestrator.extensions.text_tool_calls.worker.payload import ParserRules
from orchestrator.extensions.text_tool_calls.worker.schema_text import (
    build_example,
    dump_compact_json,
    format_parameters,
)
from thinker.protocol.messages import AUTO, NO_TOOLS, JsonObject, ToolChoice, ToolSpec
from thinker.toolcalls.schema_validation import check_against_schema

ADD = spec("add", a="integer")
TYPES = st.sampled_from(("string", "integer", "number", "boolean", "null"))
SCHEMAS: st.SearchStrategy[JsonObject] = st.recursive(
    st.builds(lambda kind: {"type": kind}, TYPES),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(
            lambda fields: {"type": "object", "properties": fields, "required": list(fields)},
            st.dictionaries(st.text(max_size=4), inner, max_size=3),
        ),
        st.builds(lambda *of: {"anyOf": [*of]}, inner, inner),
        st.builds(lambda kind: {"type": ["null", kind]}, TYPES),
    ),
    max_leaves=12,
)


def test_block_begins_with_the_base_text_and_ends_without_a_line_break() -> None:
    """Eighteen lines, then the manifest, then the guidance."""
    text = format_call_block((ADD,), AUTO)
    base = BASE.replace("INTERNAL", "shell, apply_patch, web_search, view_image")
    assert text.startswith(base + "\nAvailable tools (schema):\n- add: {")
    assert len(base.splitlines()) == 18
    assert text.endswith("Example tool_call:\n" + format_tool_call("add", '{"a":0}'))


def test_without_tools_there_is_no_block() -> None:
    """Whatever the choice."""
    assert format_call_block((), ToolChoice(mode="required")) == ""


@pytest.mark.parametrize(
    ("choice", "line"),
    [
        (NO_TOOLS, "Tool choice is none: never emit <tool_call>."),
        (
            ToolChoice(mode="required"),
            "Tool choice is required: you MUST emit at least one <tool_call>.",
        ),
        (
            ToolChoice(mode="function", name="add"),
            'Tool choice is forced: you MUST call "add".',
        ),
    ],
)
def test_choice_has_its_line_between_base_and_strict_line(choice: ToolChoice, line: str) -> None:
    """Auto and no choice add no line."""
    strict = ADD.model_copy(update={"strict": True})
    after = "\nStrict tools: add. Arguments MUST conform exactly to schema.\nAvailable tools"
    assert f"plain text.\n{line}{after}" in format_call_block((strict,), choice)
    assert "Tool choice is" not in format_call_block((ADD,), AUTO) + format_call_block((ADD,), None)


def test_internal_tools_are_those_of_the_host() -> None:
    """They are a parameter, not part of the text."""
    assert ", ".join(INTERNAL) in format_call_block((ADD,), AUTO)
    assert "directly (browser); only" in format_call_block((ADD,), AUTO, internal=("browser",))


def test_description_is_printed_when_there_is_one() -> None:
    """Unchanged; a blank one is left out."""
    assert "Tool: add\nDescription: Does add.\nParameters:" in format_call_block((ADD,), AUTO)
    silent = ADD.model_copy(update={"description": "  "})
    assert "Tool: add\nParameters:" in format_call_block((silent,), AUTO)


def test_parts_are_trimmed_and_parted_by_a_blank_line() -> None:
    """The block first, blank parts left out."""
    assert join_instructions("", " Top ", "  ", "Dev\n") == "Top\n\nDev"


@given(SCHEMAS)
def test_example_fits_its_schema_at_every_depth(schema: JsonObject) -> None:
    """As the heading over the examples promises."""
    root: JsonObject = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    arguments = build_example(root)
    assert isinstance(arguments, dict)
    assert check_against_schema(arguments, root) is None


@given(st.text(min_size=1), SCHEMAS)
def test_example_call_is_read_by_our_own_parser(name: str, schema: JsonObject) -> None:
    """Whatever the tool is called."""
    tool = ToolSpec(
        name=name, description="", parameters={"type": "object", "properties": {"a": schema}}
    )
    parser = TextCallParser(ParserRules())
    line = format_call_block((tool,), AUTO).rpartition("\nExample tool_call:\n")[2]
    events = (*parser.feed(line), *parser.finish())
    if name.strip():
        (call,) = events
        assert isinstance(call, TextToolCall)
        assert call.name == name.strip()
        assert json.loads(call.arguments) == build_example(tool.parameters)


def test_numbers_are_written_as_javascript_writes_them() -> None:
    """No point in whole numbers, few exponents, text unescaped."""
    assert dump_compact_json({"a": 1.0, "b": [0.5, "ü"]}) == '{"a":1,"b":[0.5,"ü"]}'
    written = '[1e-7,-0.000015,1e-12,10000000000000000,1e+21,"1e-05 \\"1e-07"]'
    assert dump_compact_json([1e-7, -1.5e-5, 1e-12, 1e16, 1e21, '1e-05 "1e-07']) == written


def test_tool_without_parameters_says_so() -> None:
    """Also if its schema is empty."""
    assert format_parameters({}) == ["- (no parameters)"]
    assert format_parameters({"type": "object"}) == ["- (no parameters)"]
    silent = ToolSpec(name="ping", description="", parameters={})
    assert format_call_block((silent,), AUTO).endswith(format_tool_call("ping", "{}"))


def test_alternatives_do_not_hide_an_objects_own_parameters() -> None:
    """Schemas use them to require one of several fields."""
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "anyOf": [{"required": ["a"]}],
    }
    assert format_parameters(schema) == ["- a (optional, string)"]
