"""Errors have the shape that the client's API has."""

from http import HTTPStatus
from typing import Any

import httpx
import pytest

from orchestrator.http_api.error_response import ApiProblem, invalid
from orchestrator.http_api.refusal import Refusal

VERSIONED = {"anthropic-version": "2023-06-01"}


async def answered(response: Refusal, path: str, **headers: str) -> httpx.Response:
    """The response to a request of this path."""
    transport = httpx.ASGITransport(app=response)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.get(path, headers=headers)


async def test_error_is_openais_unless_the_request_is_one_of_anthropics_api() -> None:
    """By its path, or by the header that all of their clients send."""
    for path, headers, anthropic in (
        ("/v1/chat/completions", {}, False),
        ("/v1/models", {}, False),
        ("/v1/models", VERSIONED, True),
        ("/v1/messages", {}, True),
    ):
        found = (await answered(Refusal(invalid("x", "no x")), path, **headers)).json()
        openai = {"message": "no x", "type": "invalid_request_error", "param": "x"}
        theirs = {"type": "invalid_request_error", "message": "no x"}
        assert found == (
            {"type": "error", "error": theirs, "request_id": None}
            if anthropic
            else {"error": {**openai, "code": "invalid_request_error"}}
        )


async def test_clients_of_mcp_are_told_in_their_protocol() -> None:
    """They show the sentence; of another body they would say that something failed."""
    found = (await answered(Refusal(invalid(None, "no")), "/mcp")).json()
    assert found == {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}


async def test_error_of_a_stored_request_has_its_id_and_says_what_else_to_do() -> None:
    """Anthropic's clients read both from the body too."""
    details: Any = {"error_code": "some"}
    response = Refusal(ApiProblem(HTTPStatus.NOT_FOUND, "gone", details=details), close=True)
    response.headers["request-id"] = "r1"
    found = await answered(response, "/v1/messages")
    assert found.json()["request_id"] == "r1"
    assert found.json()["error"] == {
        "type": "not_found_error",
        "message": "gone",
        "details": details,
    }
    assert (found.headers["connection"], found.headers["x-should-retry"]) == ("close", "false")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (HTTPStatus.UNAUTHORIZED, "authentication_error"),
        (HTTPStatus.FORBIDDEN, "permission_error"),
        (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request_too_large"),
        (HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_request_error"),
        (HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_error"),
        (HTTPStatus.BAD_GATEWAY, "api_error"),
        (HTTPStatus.SERVICE_UNAVAILABLE, "overloaded_error"),
        (HTTPStatus.GATEWAY_TIMEOUT, "timeout_error"),
    ],
)
def test_type_of_anthropics_error_follows_from_the_status(status: HTTPStatus, kind: str) -> None:
    """Their clients tell failures apart by it."""
    found: Any = ApiProblem(status, "x").anthropic_document()
    assert found["error"]["type"] == kind
