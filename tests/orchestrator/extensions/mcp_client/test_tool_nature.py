"""Which tools read what is private, and which could carry it out."""

import pytest

from orchestrator.extensions.mcp_client.tool_nature import (
    can_carry_out_data,
    find_smuggled_text,
    is_reading_tool,
    returns_whole_text,
)
from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from thinker.protocol.messages import JsonObject


def tool(name: str, *, read_only: bool = False, **properties: JsonObject) -> ServerTool:
    parameters: JsonObject = {"type": "object", "properties": {**properties}}
    return ServerTool(name=name, description="", parameters=parameters, read_only=read_only)


@pytest.mark.parametrize(
    "name", ["get_page", "listFiles", "search", "notes", "my-inbox", "mail_search", "readMail"]
)
def test_tool_named_like_a_read_is_one_and_carries_nothing(name: str) -> None:
    """Two pages of one server need no approval."""
    assert is_reading_tool(tool(name))
    assert not can_carry_out_data(tool(name), network=True)


@pytest.mark.parametrize(
    "name", ["send_notes", "mail", "counter", "pay", "mark_as_read", "delete_files", "forgetting"]
)
def test_tool_named_otherwise_may_carry_data_and_gives_a_receipt(name: str) -> None:
    """What it answers is not private, so two calls in a row need no approval."""
    assert not is_reading_tool(tool(name))
    assert can_carry_out_data(tool(name), network=True)


def test_read_only_hint_counts_whatever_the_name() -> None:
    """A call without text carries nothing, also to a server that is not trusted."""
    assert is_reading_tool(tool("counter", read_only=True))
    assert not can_carry_out_data(tool("counter", read_only=True), network=True)


TEXT: JsonObject = {"type": "string"}
FREE: list[dict[str, JsonObject]] = [
    {"query": TEXT},
    {"id": TEXT},
    {"since": {"type": "string", "format": "date"}},
    {"any": {}},
    {"maybe": {"type": ["string", "null"]}},
    {"either": {"anyOf": [TEXT, {"type": "integer"}]}},
    {"many": {"type": "array", "items": TEXT}},
    {"open": {"type": "object", "properties": {}}},
    {"deep": {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False}},
    {"elsewhere": {"$ref": "#/$defs/a"}},
]


@pytest.mark.parametrize("properties", FREE)
@pytest.mark.parametrize("name", ["get_page", "search", "notes", "counter"])
def test_free_text_for_a_server_that_is_not_trusted_is_sent(
    name: str, properties: dict[str, JsonObject]
) -> None:
    """Neither a name nor a hint says what the server's author does with it."""
    read = tool(name, read_only=True, **properties)
    assert can_carry_out_data(read, network=True, trusted=False)
    assert not can_carry_out_data(read, network=True, trusted=True)
    assert not can_carry_out_data(read, network=False, trusted=False)


@pytest.mark.parametrize(
    "properties",
    [
        {"limit": {"type": "integer"}, "all": {"type": "boolean"}, "part": {"type": "number"}},
        {"unit": {"type": "string", "enum": ["km", "mi"]}},
        {"kind": {"const": "page"}},
        {"rows": {"type": "array", "items": {"type": "integer"}}},
        {"at": {"type": "object", "properties": {}, "additionalProperties": False}},
    ],
)
def test_read_that_takes_no_free_text_carries_nothing(properties: dict[str, JsonObject]) -> None:
    """Two such reads in a row need no approval."""
    read = tool("get_page", read_only=True, **properties)
    assert not can_carry_out_data(read, network=True, trusted=False)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({}, ""),
        ({"limit": 5, "unit": "km"}, ""),
        ({"note": "PRIVATE"}, "note"),
        ({"limit": 10**40}, "limit"),
        ({"limit": "PRIVATE"}, "limit"),
        ({"limit": [1, {"a": 1}]}, "limit"),
        ({"limit": [1, -(10**40)]}, "limit"),
        ({"unit": "PRIVATE"}, "unit"),
    ],
)
def test_text_where_none_is_taken_is_found(arguments: JsonObject, found: str) -> None:
    """A model may write arguments that no parameter is for."""
    schema: JsonObject = {"properties": {"limit": {"type": "integer"}, "unit": {"enum": ["km"]}}}
    assert find_smuggled_text(arguments, schema) == found


@pytest.mark.parametrize(
    "properties",
    [
        {"page_url": {"type": "string"}},
        {"links": {"type": "array", "items": {"type": "string"}}},
        {"where": {"type": "string", "format": "uri"}},
        {"options": {"type": "object", "properties": {"targetHost": {"type": "string"}}}},
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_read_that_takes_an_address_carries_data_in_it(
    properties: dict[str, JsonObject], *, trusted: bool
) -> None:
    """The server at the address reads it."""
    read = tool("fetch", read_only=True, **properties)
    assert can_carry_out_data(read, network=True, trusted=trusted)


def test_server_without_network_carries_nothing() -> None:
    """Whatever its tools are named."""
    assert not can_carry_out_data(tool("send_mail", url={"type": "string"}), network=False)


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("get_webpage", True),
        ("read_file", True),
        ("fetch", True),
        ("getDocument", True),
        ("search_contacts", False),
        ("list_files", False),
        ("create_file", False),
    ],
)
def test_tool_named_after_a_text_returns_it_as_its_author_wrote_it(
    name: str,
    whole: bool,  # noqa: FBT001 - pytest passes parameters by name
) -> None:
    """So what looks like an entry of a list in it may be the author's."""
    assert returns_whole_text(name) is whole
