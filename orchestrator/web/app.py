"""Shared parts of all applications: error responses and bounded bodies."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TypeAlias, TypeVar, TypeVarTuple

import anyio
import structlog
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.errors import JournalError
from orchestrator.web.error_response import ApiProblem, make_invalid_problem

MAX_BODY = 8 * 1024 * 1024  # bytes; a frame to a worker has 16 MiB
SHORT_BODY = 4 * 1024  # bytes; a schema of that size is checked in 30 ms
BODY_TIMEOUT = 30.0  # seconds for a body to arrive
RETRY = 5  # seconds after which a client should retry a refused request
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Renderer: TypeAlias = Callable[[ApiProblem], Response]
log = structlog.get_logger()


def build_app(routes: Sequence[Route], render: Renderer) -> Starlette:
    """Build the application of ``routes``; ``render`` makes the response of a problem."""

    async def answer_problem(_: Request, error: Exception) -> Response:
        return render(
            error if isinstance(error, ApiProblem) else make_invalid_problem(None, str(error))
        )

    async def answer_journal_error(_: Request, error: Exception) -> Response:
        return render(ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), retry=RETRY))

    async def answer_unknown_route(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        phrase = HTTPStatus(status).phrase.lower()  # "not found", "method not allowed"
        message = f"{phrase}: {request.method} {request.url.path}"
        return render(ApiProblem(HTTPStatus(status), message))

    async def answer_disconnected(_: Request, __: Exception) -> Response:
        return Response(status_code=HTTPStatus.BAD_REQUEST)  # the client is gone: never sent

    async def answer_fault(request: Request, error: Exception) -> Response:
        log.error("request_broke", path=request.url.path, exc_info=error)
        message = "internal error; the daemon's log has the details"
        return render(ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, message))

    return Starlette(
        routes=routes,
        exception_handlers={
            ApiProblem: answer_problem,
            JournalError: answer_journal_error,
            HTTPException: answer_unknown_route,
            ClientDisconnect: answer_disconnected,
            Exception: answer_fault,
        },
    )


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """Read a body of at most ``limit`` bytes within ``seconds``.

    A body whose declared length is too large is not read.

    Raises:
        ApiProblem: the body is larger (413), or did not arrive in time (408).
    """
    body = bytearray()
    too_large = ApiProblem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {limit} bytes"
    )
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:15]) > limit:
        raise too_large
    try:
        with anyio.fail_after(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_large
    except TimeoutError:
        message = f"the body did not arrive within {seconds:.0f} seconds"
        raise ApiProblem(HTTPStatus.REQUEST_TIMEOUT, message) from None
    return bytes(body)


async def run_on_body(raw: bytes, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return ``work(*arguments)``, which reads a body.

    A long body is read in a thread, so that other chats need not wait.
    """
    if len(raw) <= SHORT_BODY:
        return work(*arguments)
    return await to_thread.run_sync(work, *arguments)
