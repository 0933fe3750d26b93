"""What a client is told when its request fails, in OpenAI's shape."""

from http import HTTPStatus

from orchestrator.errors import OrchestratorError
from thinker.protocol.messages import JsonObject

KINDS = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}


class ApiProblem(OrchestratorError):  # noqa: N818 - what RFC 9457 calls it; an answer, not a fault
    """A request that fails with this status; ``retry`` is when to ask again, in seconds.

    Without ``retry`` OpenAI's own clients are told not to ask again by themselves.
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
        """The error object."""
        refused = self.status < HTTPStatus.INTERNAL_SERVER_ERROR
        kind = KINDS.get(self.status, "invalid_request_error" if refused else "server_error")
        return {
            "error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        }

    def headers(self) -> dict[str, str]:
        """Whether and when to ask again."""
        if self.retry is None:
            return {"x-should-retry": "false"}
        return {"x-should-retry": "true", "retry-after": str(self.retry)}


def invalid(param: str | None, message: str) -> ApiProblem:
    """A body that is not what it should be; ``param`` is the field at fault."""
    code = "invalid_request_error"
    return ApiProblem(HTTPStatus.BAD_REQUEST, message, code=code, param=param)
