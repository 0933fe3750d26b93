"""The error of a failed request, in OpenAI's shape, which Anthropic's clients read too."""

from http import HTTPStatus

from orchestrator.errors import OrchestratorError
from thinker.protocol.messages import JsonObject

TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}


class ApiProblem(OrchestratorError):  # noqa: N818 - what RFC 9457 calls it; a response, not a fault
    """A request that fails with this status.

    ``retry`` is the number of seconds after which a client should repeat the request. Without it
    OpenAI's own clients do not retry.
    """

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.retry = retry

    def document(self) -> JsonObject:
        client_error = self.status < HTTPStatus.INTERNAL_SERVER_ERROR
        kind = TYPES.get(self.status, "invalid_request_error" if client_error else "server_error")
        return {
            "error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        }

    def headers(self) -> dict[str, str]:
        """Return the headers that say whether and when to retry."""
        if self.retry is None:
            return {"x-should-retry": "false"}
        return {"x-should-retry": "true", "retry-after": str(self.retry)}


def invalid(param: str | None, message: str) -> ApiProblem:
    """Return the problem of a malformed request; ``param`` names the field at fault."""
    code = "invalid_request_error"
    return ApiProblem(HTTPStatus.BAD_REQUEST, message, code=code, param=param)
