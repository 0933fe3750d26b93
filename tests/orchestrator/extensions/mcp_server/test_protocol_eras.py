"""Versions of MCP."""

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from orchestrator.extensions.mcp_server import protocol_eras
from orchestrator.extensions.mcp_server.rpc_messages import Incoming, McpProblem
from thinker.protocol.messages import JsonObject

KEY = protocol_eras.VERSION_KEY
META: JsonObject = {KEY: "2026-07-28", protocol_eras.CAPABILITIES_KEY: {}}
HEADERS = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "ask_a"}


def test_versions_are_those_of_the_official_library() -> None:
    """A new version of the protocol shows here as soon as the library speaks it."""
    assert protocol_eras.WITH_HANDSHAKE == HANDSHAKE_PROTOCOL_VERSIONS
    assert protocol_eras.STATELESS == MODERN_PROTOCOL_VERSIONS


def call(name: str = "ask_a", meta: JsonObject = META) -> Incoming:
    """A call of a tool, without a handshake."""
    return Incoming("tools/call", {"name": name, "_meta": meta}, 1)


@pytest.mark.parametrize(
    ("message", "change", "code"),
    [
        (call(), {}, None),
        (call("änd"), {"mcp-name": "=?base64?w6RuZA==?="}, None),
        (call("änd"), {"mcp-name": "=?base64?w6RuZA?="}, -32020),
        (call(), {"mcp-name": "ask_b"}, -32020),
        (call(), {"mcp-method": "tools/list"}, -32020),
        (call(), {"mcp-protocol-version": "2025-11-25"}, -32020),
        (call(meta={KEY: "2026-07-28"}), {}, -32602),
        (call(meta={**META, KEY: "2030-01-01"}), {"mcp-protocol-version": "2030-01-01"}, -32022),
    ],
)
def test_request_without_handshake_agrees_with_its_headers(
    message: Incoming, change: dict[str, str], code: int | None
) -> None:
    """Each contradiction has its code; a name that no header can carry is in base64."""
    found = None
    try:
        protocol_eras.check_envelope(message, {**HEADERS, **change})
    except McpProblem as problem:
        found = problem.code
    assert found == code


def test_version_that_is_no_text_is_refused_without_headers_too() -> None:
    """On standard input there are none."""
    with pytest.raises(McpProblem, match="must be a text"):
        protocol_eras.check_envelope(call(meta={**META, KEY: 7}), None)
