"""JSON-RPC of MCP clients."""

import pytest
from pydantic import JsonValue

from orchestrator.extensions.mcp_server import rpc_messages
from orchestrator.extensions.mcp_server.rpc_messages import Incoming, McpProblem
from thinker.protocol.messages import JsonObject

PING: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def code_of(value: JsonValue) -> int:
    """The code with which a message is refused."""
    with pytest.raises(McpProblem) as refused:
        rpc_messages.read_message(value)
    return refused.value.code


def test_request_notification_and_response_are_told_apart() -> None:
    """By the id and the method; params may be left out."""
    assert rpc_messages.read_message({**PING}) == Incoming("ping", {}, 1)
    noted = rpc_messages.read_message({"jsonrpc": "2.0", "method": "x", "params": {"a": 1}})
    assert noted == Incoming("x", {"a": 1}, None)
    assert rpc_messages.read_message({"jsonrpc": "2.0", "id": 1, "result": {}}) is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"jsonrpc": "1.0"}, -32600),
        ({"method": 7}, -32600),
        ({"id": None}, -32600),
        ({"id": True}, -32600),
        ({"id": "x" * 201}, -32600),
        ({"params": [1]}, -32602),
    ],
)
def test_malformed_message_is_refused(change: dict[str, JsonValue], code: int) -> None:
    """With the code of what is wrong."""
    assert code_of({**PING, **change}) == code


def test_error_that_quotes_half_a_character_can_be_sent() -> None:
    """A response is always valid UTF-8."""
    sent = rpc_messages.build_failure("a", McpProblem(-32602, "no \ud800", {"uri": "x"}))
    assert sent["error"] == {"code": -32602, "message": "no ?", "data": {"uri": "x"}}


def test_batch_is_counted_before_it_is_run() -> None:
    """An empty one and a very long one are refused; one message is a batch of one."""
    assert rpc_messages.list_batch(7, allowed=False) == [7]
    assert rpc_messages.list_batch([1, 2], allowed=True) == [1, 2]
    for batch, allowed in (([], True), ([1] * 51, True), ([1], False)):
        with pytest.raises(McpProblem):
            rpc_messages.list_batch([*batch], allowed=allowed)
