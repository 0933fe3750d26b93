"""Who may ask: programs on this machine that hold the token (reference/reliability.md S8 to S13).

Everything here is decided from the head of a request, before anything of its body is read.
"""

import time
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.token import TokenFile

NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN = frozenset({"/healthz", "/readyz"})  # say nothing that only the token's holder may know
FAILURES, WINDOW = 30, 60.0  # wrong tokens in so many seconds, after which all others wait


class Guard:
    """Passes on what may be asked."""

    def __init__(
        self, app: ASGIApp, token: TokenFile, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._token = token
        self._clock = clock
        self._failures: deque[float] = deque(maxlen=FAILURES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        problem = self._problem(scope) if scope["type"] == "http" else None
        if problem is not None:
            await refusal(problem)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _problem(self, scope: Scope) -> ApiProblem | None:
        headers = Headers(scope=scope)
        # A page that was rebound to this address sends its own name as Host, and no Origin.
        if not _ours(f"//{headers.get('host', '')}"):
            return ApiProblem(HTTPStatus.FORBIDDEN, "ask by the name localhost or 127.0.0.1")
        if "origin" in headers and not _ours(headers["origin"]):
            return ApiProblem(HTTPStatus.FORBIDDEN, "pages of other sites may not ask here")
        if scope["path"] in OPEN:
            return None
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._token.accepts(token.strip()):
            return None
        now = self._clock()
        if len(self._failures) == FAILURES and now - self._failures[0] < WINDOW:
            return ApiProblem(
                HTTPStatus.TOO_MANY_REQUESTS, "too many wrong tokens", retry=round(WINDOW)
            )
        self._failures.append(now)
        return ApiProblem(
            HTTPStatus.UNAUTHORIZED,
            "send the token of 'orchestrator api token' as Authorization: Bearer …",
            code="invalid_api_key",
        )


def refusal(problem: ApiProblem) -> JSONResponse:
    """A problem as an answer."""
    return JSONResponse(problem.document(), problem.status, problem.headers())


def _ours(address: str) -> bool:
    try:
        return urlsplit(address).hostname in NAMES
    except ValueError:
        return False
