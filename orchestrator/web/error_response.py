"""The error of a failed request, in the shape of OpenAI's API or of Anthropic's."""

from http import HTTPStatus

from orchestrator.errors import OrchestratorError
from thinker.protocol.messages import JsonObject

TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
ANTHROPIC_TYPES = {
    **TYPES,
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded_error",
    HTTPStatus.GATEWAY_TIMEOUT: "timeout_error",
}


class ApiProblem(OrchestratorError):  # noqa: N818 - what RFC 9457 calls it; a response, not a fault
    """A failed request and its status.

    ``retry`` is the number of seconds after which a client should repeat the request. Without it
    the official clients do not retry. ``details`` tell Anthropic's clients what to do.
    """

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry: int | None = None,
        details: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.retry = retry
        self.details = details

    def build_openai_document(self) -> JsonObject:
        """Build the error that OpenAI's clients read."""
        kind = TYPES.get(self.status, self._choose_by_side("invalid_request_error", "server_error"))
        return {
            "error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        }

    def build_anthropic_document(self, request_id: str | None = None) -> JsonObject:
        """Build the error that Anthropic's clients read."""
        kind = ANTHROPIC_TYPES.get(
            self.status, self._choose_by_side("invalid_request_error", "api_error")
        )
        error: JsonObject = {"type": kind, "message": str(self)}
        if self.details is not None:
            error["details"] = self.details
        return {"type": "error", "error": error, "request_id": request_id}

    def build_headers(self) -> dict[str, str]:
        """Build the headers that say whether and when to retry."""
        if self.retry is None:
            return {"x-should-retry": "false"}
        return {"x-should-retry": "true", "retry-after": str(self.retry)}

    def _choose_by_side(self, client: str, server: str) -> str:
        return client if self.status < HTTPStatus.INTERNAL_SERVER_ERROR else server


def make_invalid_problem(param: str | None, message: str) -> ApiProblem:
    """Make the problem of a malformed request; ``param`` names the field at fault."""
    code = "invalid_request_error"
    return ApiProblem(HTTPStatus.BAD_REQUEST, message, code=code, param=param)
