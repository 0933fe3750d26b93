"""A definition as a tool of another: its inputs, its first message, its result."""

from hypothesis import given
from hypothesis import strategies as st

from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.subprompt import (
    FAILED,
    NO_INPUTS,
    NOTHING,
    SubpromptCall,
    as_tool,
    failure_text,
    first_message,
    opening,
    result_text,
    with_defaults,
)
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
    """An entry with these options."""
    return SubpromptUse.model_validate({"name": "p", **fields})


def test_tool_has_the_schema_with_its_descriptions() -> None:
    """What a model needs to call it; without a schema it takes nothing."""
    fields = {"name": "search", "tool_description": "Searches", "model": "inherit", "prompt": ""}
    tool = as_tool(PromptDefinition.model_validate({**fields, "required_schema": SCHEMA}))
    assert (tool.name, tool.description, tool.parameters) == ("search", "Searches", SCHEMA)
    assert as_tool(PromptDefinition.model_validate(fields)).parameters == NO_INPUTS


def test_defaults_are_filled_in_at_every_depth_and_unknown_inputs_left_out() -> None:
    """Unless the schema allows more than it names."""
    given: JsonObject = {"query": "x", "options": {}, "items": [{}, {"n": 2}], "more": 1}
    expected: JsonObject = {
        "query": "x",
        "limit": 10,
        "options": {"deep": False},
        "items": [{"n": 1}, {"n": 2}],
    }
    assert with_defaults(given, SCHEMA) == expected
    assert with_defaults(given, {**SCHEMA, "additionalProperties": True}) == expected | {"more": 1}


@given(st.dictionaries(st.text(max_size=3), JSON), st.dictionaries(st.text(max_size=3), JSON))
def test_no_arguments_and_no_schema_make_it_fail(
    arguments: JsonObject, properties: JsonObject
) -> None:
    """Both come from outside; doing it twice changes nothing."""
    schema: JsonObject = {"type": "object", "properties": properties}
    once = with_defaults(arguments, schema)
    assert with_defaults(once, schema) == once


def test_first_message_is_the_property_that_the_entry_names() -> None:
    """Text as it is, anything else as JSON; without one all arguments; paths are named."""
    asked = use(initUserMessageProperty="query", initAttachmentsProperty="files")
    assert opening(asked, {"query": "x", "files": "/a.png"}) == ("x", ("/a.png",))
    assert opening(asked, {"query": {"a": 1}, "files": ["/a", 3, "/b"]}) == (
        '{"a":1}',
        ("/a", "/b"),
    )
    assert opening(asked, {}) == (None, ())
    assert first_message(asked, {"query": "x", "files": ["/a", "/b"]}) == (
        "x\n\n[Attached files: /a, /b]"
    )
    assert first_message(use(), {"a": 1}) == '{"a":1}'


def test_result_holds_what_the_options_include() -> None:
    """Text, calls with their results, errors; never nothing at all."""
    assert result_text(use(), "Done.", RAN) == (
        'Done.\n\nTool calls:\n- search({"q":1}): found\n- fetch({})\n\nErrors:\n- fetch: boom'
    )
    assert (
        result_text(use(includeToolCalls=False), "Done.", RAN) == "Done.\n\nErrors:\n- fetch: boom"
    )
    only = use(includeToolCalls=False, includeErrors=False)
    assert result_text(only, "Done.", RAN) == "Done."
    assert result_text(use(includeTextResponse=False), "Done.", ()) == NOTHING


def test_failure_is_told_when_errors_are_included() -> None:
    """Otherwise only that there was one."""
    assert failure_text(use(), "boom") == "Error: boom"
    assert failure_text(use(includeErrors=False), "boom") == FAILED
