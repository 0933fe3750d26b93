"""One odd tool costs itself: others of its server are offered, and it is named."""

import pytest
from mcp_types import ListToolsResult
from mcp_types.methods import validate_server_result
from pydantic import JsonValue

from orchestrator.extensions.mcp_client.toolhost.listed_tools import ListNotes, repair_tool_list
from thinker.protocol.messages import JsonObject

GOOD: JsonObject = {"name": "good", "inputSchema": {"type": "object"}}
ANYTHING: JsonObject = {"type": "object"}


def repair(*tools: JsonValue, **fields: JsonValue) -> tuple[list[JsonObject], tuple[str, ...]]:
    """The tools of a list after a good one, and the notes about it; the SDK takes the list."""
    notes = ListNotes()
    repaired = repair_tool_list({"tools": [GOOD, *tools], **fields}, notes)
    validate_server_result("tools/list", "2025-06-18", repaired)
    ListToolsResult.model_validate(repaired, by_name=False)
    assert repaired["tools"][0] == GOOD
    return repaired["tools"][1:], notes.list_notes()


@pytest.mark.parametrize(
    ("fields", "schema"),
    [
        ({}, ANYTHING),
        ({"inputSchema": None}, ANYTHING),
        ({"inputSchema": {}}, ANYTHING),
        ({"inputSchema": True}, ANYTHING),
        ({"inputSchema": {"type": None}}, ANYTHING),
        ({"inputSchema": {"type": ["object"]}}, ANYTHING),
        ({"inputSchema": {"type": ["object", "null"]}}, ANYTHING),
        ({"inputSchema": {"properties": None}}, ANYTHING),
        (
            {"inputSchema": {"properties": {"a": {"$ref": "#/nowhere"}}}},
            {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
        ),
    ],
)
def test_a_schema_that_says_nothing_takes_anything(fields: JsonObject, schema: JsonObject) -> None:
    """Many servers leave it out or empty for a tool without arguments."""
    assert repair({"name": "t", **fields}) == ([{"name": "t", "inputSchema": schema}], ())


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"inputSchema": {"required": "a"}}, "is no list of names"),
        ({"inputSchema": {"required": [1]}}, "is no list of names"),
        ({"inputSchema": {"properties": {"a": 5}}}, "its parameters a have no schema"),
        ({"description": 5}, "'description' is illegal"),
        ({"annotations": {"readOnlyHint": "perhaps"}}, "'annotations' is illegal"),
        ({"annotations": []}, "'annotations' is illegal"),
        ({"outputSchema": {"type": "array"}}, "'outputSchema' is illegal"),
        ({"icons": 5, "title": {}}, "'icons' is illegal"),
        ({"_meta": []}, "'_meta' is illegal"),
    ],
)
def test_what_is_illegal_beside_a_schema_is_ignored_with_a_note(
    fields: JsonObject, part: str
) -> None:
    """The tool can be called all the same."""
    (tool,), notes = repair({"name": "t", **fields})
    assert tool["name"] == "t"
    assert notes[0].startswith("the tool 't'")
    assert part in notes[0]


@pytest.mark.parametrize(
    ("tool", "part"),
    [
        ({"name": "t", "inputSchema": "object"}, "'t' is left out: its inputSchema is no JSON"),
        ({"name": "t", "inputSchema": []}, "'t' is left out: its inputSchema is no JSON"),
        ({"name": "t", "inputSchema": False}, "'t' is left out: its inputSchema is no JSON"),
        ({"name": "t", "inputSchema": {"type": "string"}}, "of the type 'string'"),
        ({"name": "t", "inputSchema": {"properties": []}}, "'t' is left out: the properties"),
        ({"inputSchema": {}}, "its name 'None' cannot be used"),
        ({"name": " "}, "its name ' ' cannot be used"),
        ({"name": 5}, "its name '5' cannot be used"),
        ({"name": "t" * 5000}, "cannot be used"),
        (None, "it is no JSON object"),
        ("t", "it is no JSON object"),
    ],
)
def test_a_tool_that_cannot_be_used_is_left_out_by_name(tool: JsonValue, part: str) -> None:
    """The others are offered."""
    tools, notes = repair(tool)
    assert tools == []
    assert part in notes[0]


def test_a_list_may_be_odd_itself() -> None:
    """No list, an illegal cursor and metadata cost the rest at most."""
    tools, notes = repair(nextCursor=5, _meta=[])
    assert (tools, len(notes)) == ([], 1)
    notes_of_none = ListNotes()
    assert repair_tool_list({"tools": {}}, notes_of_none) == {"tools": []}
    assert notes_of_none.list_notes() == ("its list of tools is no list",)


def test_notes_are_as_many_as_one_reads() -> None:
    """Five thousand odd tools do not flood the status."""
    _, notes = repair(*range(5000))
    assert len(notes) == 1
    odd: list[JsonValue] = [{"name": f"t{number}", "inputSchema": 1} for number in range(5000)]
    _, notes = repair(*odd)
    assert len(notes) == 21
    assert notes[-1] == "… and 4980 more like these"
