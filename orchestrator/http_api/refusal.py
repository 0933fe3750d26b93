"""The response of a request that is refused, or that fails."""

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from orchestrator.http_api.error_response import ApiProblem
from orchestrator.mcp_server.rpc_messages import INVALID_REQUEST, McpProblem, failure
from thinker.protocol.messages import JsonObject

MCP = "/mcp"
MESSAGES = "/v1/messages"
REQUEST_ID = ("x-request-id", "request-id")  # headers of OpenAI's and of Anthropic's API
VERSION = "anthropic-version"  # a header that all requests to Anthropic's API have


class Refusal(JSONResponse):
    """A problem, in the shape that the client reads; ``close`` ends the connection after it."""

    def __init__(self, problem: ApiProblem, *, close: bool = False) -> None:
        headers = {**problem.headers(), **({"connection": "close"} if close else {})}
        super().__init__(None, problem.status, headers)
        self._problem = problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.body = self.render(self._document(scope))
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)

    def _document(self, scope: Scope) -> JsonObject:
        if scope["path"] == MCP:
            return failure(None, McpProblem(INVALID_REQUEST, str(self._problem)))
        if _for_anthropic(scope):
            return self._problem.anthropic_document(self.headers.get(REQUEST_ID[1]))
        return self._problem.document()


def _for_anthropic(scope: Scope) -> bool:
    """Return whether a request is one of Anthropic's API."""
    return scope["path"].startswith(MESSAGES) or VERSION in Headers(scope=scope)
