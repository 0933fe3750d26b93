"""Which tools read what is private, and which could carry it out."""

import pytest

from orchestrator.extensions.mcp_client.tool_nature import can_carry_out_data, is_reading_tool
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
    """Also of a server that is not trusted."""
    assert is_reading_tool(tool("counter", read_only=True))
    assert not can_carry_out_data(tool("counter", read_only=True), network=True)


@pytest.mark.parametrize(
    "properties",
    [
        {"page_url": {"type": "string"}},
        {"links": {"type": "array", "items": {"type": "string"}}},
        {"where": {"type": "string", "format": "uri"}},
        {"options": {"type": "object", "properties": {"targetHost": {"type": "string"}}}},
    ],
)
def test_read_that_takes_an_address_carries_data_in_it(properties: dict[str, JsonObject]) -> None:
    """The server at the address reads it."""
    assert can_carry_out_data(tool("fetch", read_only=True, **properties), network=True)


def test_server_without_network_carries_nothing() -> None:
    """Whatever its tools are named."""
    assert not can_carry_out_data(tool("send_mail", url={"type": "string"}), network=False)
