"""What clients of MCP are told when a request is refused before it is read."""

from orchestrator.extensions.mcp_server.mcp_part import _build_refusal
from orchestrator.web.error_response import make_invalid_problem


def test_refusal_is_a_failure_of_the_protocol() -> None:
    """Clients show the sentence; of another body they would say that something failed."""
    assert _build_refusal(make_invalid_problem(None, "no")) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "no"},
    }
