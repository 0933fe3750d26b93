"""The response to a refused or failed request."""

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from orchestrator.web.error_response import ApiProblem
from thinker.protocol.messages import JsonObject

DOCUMENTS = "orchestrator.documents"  # in a scope: builders of refusals, keyed by path prefix
MESSAGES = "/v1/messages"
REQUEST_ID = ("x-request-id", "request-id")  # headers of OpenAI's and of Anthropic's API
VERSION = "anthropic-version"  # a header that all requests to Anthropic's API have


class Refusal(JSONResponse):
    """A problem in the client's format; ``close`` ends the connection after it."""

    def __init__(self, problem: ApiProblem, *, close: bool = False) -> None:
        headers = {**problem.build_headers(), **({"connection": "close"} if close else {})}
        super().__init__(None, problem.status, headers)
        self._problem = problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.body = self.render(self._build_document(scope))
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)

    def _build_document(self, scope: Scope) -> JsonObject:
        for prefix, build in scope.get(DOCUMENTS, {}).items():
            if scope["path"].startswith(prefix):
                document: JsonObject = build(self._problem)
                return document
        if _is_anthropic_request(scope):
            return self._problem.build_anthropic_document(self.headers.get(REQUEST_ID[1]))
        return self._problem.build_openai_document()


def _is_anthropic_request(scope: Scope) -> bool:
    """Return whether a request belongs to Anthropic's API."""
    return scope["path"].startswith(MESSAGES) or VERSION in Headers(scope=scope)
