"""Errors have the shape that the client's API has."""

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.web.error_response import make_invalid_problem
from orchestrator.web.refusal import DOCUMENTS, Refusal

VERSIONED = {"anthropic-version": "2023-06-01"}


async def answered(response: ASGIApp, path: str, **headers: str) -> httpx.Response:
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
        found = (await answered(Refusal(make_invalid_problem("x", "no x")), path, **headers)).json()
        openai = {"message": "no x", "type": "invalid_request_error", "param": "x"}
        theirs = {"type": "invalid_request_error", "message": "no x"}
        assert found == (
            {"type": "error", "error": theirs, "request_id": None}
            if anthropic
            else {"error": {**openai, "code": "invalid_request_error"}}
        )


async def test_route_makes_the_json_of_its_refusals() -> None:
    """Clients of another protocol show the sentence only if it is where they look for it."""
    refusal = Refusal(make_invalid_problem(None, "no"))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        documents = {"/moon": lambda problem: {"fault": str(problem)}}
        await refusal({**scope, DOCUMENTS: documents}, receive, send)

    assert (await answered(app, "/moon")).json() == {"fault": "no"}
