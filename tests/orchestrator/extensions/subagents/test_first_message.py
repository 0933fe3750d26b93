"""A definition works as a tool of another: its arguments, first message and result."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.subagents.first_message import (
    FAILED,
    NO_INPUTS,
    NOTHING,
    SubpromptCall,
    apply_defaults,
    build_tool_spec,
    format_first_message,
    format_run_failure,
    format_run_result,
    parse_opening,
)
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.tooluse import SubpromptUse
from thinker.protocol.messages import JsonObject

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for"},
        "limit": {"type": "number", "default": 10},
        "options": {"type": "object", "properties": {"deep": {"default": False}}},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"default": 1}}},
        },
    },
    "required": ["query"],
}
RAN = (
    SubpromptCall("search", '{"q":1}', "found"),
    SubpromptCall("fetch", "{}", "boom", failed=True),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def use(**fields: object) -> SubpromptUse:
    """Return an entry with these options."""
    return SubpromptUse.model_validate({"name": "p", **fields})


def test_tool_has_the_schema_with_its_descriptions() -> None:
    """Without a schema the tool takes no arguments."""
    fields = {"name": "search", "tool_description": "Searches", "model": "inherit", "prompt": ""}
    tool = build_tool_spec(PromptDefinition.model_validate({**fields, "required_schema": SCHEMA}))
    assert (tool.name, tool.description, tool.parameters) == ("search", "Searches", SCHEMA)
    assert build_tool_spec(PromptDefinition.model_validate(fields)).parameters == NO_INPUTS


def test_defaults_are_added_and_unknown_arguments_dropped_at_every_depth() -> None:
    """A schema with additionalProperties keeps them."""
    given: JsonObject = {"query": "x", "options": {}, "items": [{}, {"n": 2}], "more": 1}
    expected: JsonObject = {
        "query": "x",
        "limit": 10,
        "options": {"deep": False},
        "items": [{"n": 1}, {"n": 2}],
    }
    assert apply_defaults(given, SCHEMA) == expected
    assert apply_defaults(given, {**SCHEMA, "additionalProperties": True}) == expected | {"more": 1}


@given(st.dictionaries(st.text(max_size=3), JSON), st.dictionaries(st.text(max_size=3), JSON))
def test_defaults_can_be_added_to_any_arguments(
    arguments: JsonObject, properties: JsonObject
) -> None:
    """Any schema and any arguments work, and a second time changes nothing."""
    schema: JsonObject = {"type": "object", "properties": properties}
    once = apply_defaults(arguments, schema)
    assert apply_defaults(once, schema) == once


def test_first_message_is_the_property_that_the_entry_names() -> None:
    """Text stays as it is, other values become JSON; the default is all arguments as JSON."""
    asked = use(initUserMessageProperty="query", initAttachmentsProperty="files")
    assert parse_opening(asked, {"query": "x", "files": "/a.png"}) == ("x", ("/a.png",))
    assert parse_opening(asked, {"query": {"a": 1}, "files": ["/a", 3, "/b"]}) == (
        '{"a":1}',
        ("/a", "/b"),
    )
    assert parse_opening(asked, {}) == (None, ())
    assert format_first_message(asked, {"query": "x", "files": ["/a", "/b"]}) == (
        "x\n\n[Attached files: /a, /b]"
    )
    assert format_first_message(use(), {"a": 1}) == '{"a":1}'


def test_result_holds_what_the_options_include() -> None:
    """Text, calls with their results, errors; an empty result says so."""
    assert format_run_result(use(), "Done.", RAN) == (
        'Done.\n\nTool calls:\n- search({"q":1}): found\n- fetch({})\n\nErrors:\n- fetch: boom'
    )
    assert (
        format_run_result(use(includeToolCalls=False), "Done.", RAN)
        == "Done.\n\nErrors:\n- fetch: boom"
    )
    only = use(includeToolCalls=False, includeErrors=False)
    assert format_run_result(only, "Done.", RAN) == "Done."
    assert format_run_result(use(includeTextResponse=False), "Done.", ()) == NOTHING


def test_failure_is_explained_when_errors_are_included() -> None:
    """Otherwise the result only says that the run failed."""
    assert format_run_failure(use(), "boom") == "Error: boom"
    assert format_run_failure(use(includeErrors=False), "boom") == FAILED
