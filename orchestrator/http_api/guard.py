"""Admit programs on this machine that hold the token.

Everything here is decided from the head of a request, before any of its body is read.
"""

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.files import off_loop
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.token import TokenFile

HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
PUBLIC = frozenset({"/healthz", "/readyz"})  # reveal nothing that needs the token
FAILURES, WINDOW = 30, 60.0  # wrong tokens within so many seconds, after which others must wait


@dataclass
class Guard:
    """ASGI middleware that refuses requests without the token or from other sites."""

    app: ASGIApp
    token: TokenFile
    clock: Callable[[], float] = time.monotonic
    _failures: deque[float] = field(default_factory=partial(deque, maxlen=FAILURES), init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = await self._problem(scope) if scope["type"] == "http" else None
        app = self.app if problem is None else refusal(problem)
        await app(scope, receive, send)

    async def _problem(self, scope: Scope) -> ApiProblem | None:
        headers = Headers(scope=scope)
        # A page whose name was rebound to this address sends that name as Host, and no Origin.
        if not _is_local(f"//{headers.get('host', '')}"):
            return ApiProblem(
                HTTPStatus.FORBIDDEN, "the Host header must be localhost or 127.0.0.1"
            )
        if "origin" in headers and not _is_local(headers["origin"]):
            return ApiProblem(HTTPStatus.FORBIDDEN, "pages of other sites have no access")
        if scope["path"] in PUBLIC:
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        with suppress(TimeoutError):
            if scheme.lower() == "bearer" and await off_loop(self.token.accepts, token.strip()):
                return None
        now = self.clock()
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
    return JSONResponse(problem.document(), problem.status, problem.headers())


def _is_local(address: str) -> bool:
    try:
        return urlsplit(address).hostname in HOSTS
    except ValueError:
        return False
