"""Admit requests with the token, and requests to routes that check themselves.

Everything here is decided from the head of a request, before any of its body is read. Only requests
with the token take slots, so that strangers cannot use them up.

Where: is the token of the HTTP API checked?
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.extension import Route
from orchestrator.extensions.http_api.node_link import FROM_NODE
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.files import run_off_loop
from orchestrator.web.error_response import ApiProblem
from orchestrator.web.refusal import DOCUMENTS, Refusal
from orchestrator.web.request_limits import BUSY, RequestSlots, WrongTokens

HOST = r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?"
LOCAL_HOST = re.compile(HOST, re.IGNORECASE)
NAMED_HOST = re.compile(r"([A-Za-z0-9.-]+)(?::[0-9]{1,5})?")
LOCAL_SITE = re.compile(rf"https?://{HOST}", re.IGNORECASE)
PUBLIC = frozenset({"/healthz", "/readyz"})  # reveal nothing that needs the token
MAX_REQUESTS = 200  # with the token, at a time
MAX_PROBES = 20  # of PUBLIC, concurrently


class AllowedOrigins(NamedTuple):
    """Other names by which clients reach the endpoints, and other sites that may call them."""

    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


CLOSED = AllowedOrigins()


@dataclass
class Guard:
    """ASGI middleware that refuses requests without the token or from other sites.

    ``is_node`` returns whether the Authorization header is that of another node of the journal,
    which has judged the request.
    """

    app: ASGIApp
    token: TokenFile
    clock: Callable[[], float] = time.monotonic
    doors: AllowedOrigins = CLOSED
    routes: Sequence[Route] = ()
    is_node: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        self._wrong = WrongTokens(self.clock)
        self._requests, self._probes = RequestSlots(MAX_REQUESTS), RequestSlots(MAX_PROBES)
        self._documents = {route.prefix: route.document for route in self.routes if route.document}
        self._own = {route.prefix: RequestSlots(route.slots) for route in self._open_routes()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[DOCUMENTS] = self._documents
        problem = await self._check_request(scope) if scope["type"] == "http" else None
        if problem is not None:
            await Refusal(problem, close=True)(scope, receive, send)
            return
        with self._choose_slots(scope["path"]).take_slot() as free:
            await (self.app if free else Refusal(BUSY))(scope, receive, send)

    def _open_routes(self) -> Iterator[Route]:
        return (route for route in self.routes if route.own_check)

    def _choose_slots(self, path: str) -> RequestSlots:
        for route in self._open_routes():
            if route.matches_path(path):
                return self._own[route.prefix]
        return self._probes if path in PUBLIC else self._requests

    async def _check_request(self, scope: Scope) -> ApiProblem | None:
        headers, path = Headers(scope=scope), scope["path"]
        if self.is_node is not None and self.is_node(headers.get("authorization", "")):
            scope[FROM_NODE] = True
            return None
        problem = _check_head(headers, self.doors)
        open_path = path in PUBLIC or any(route.matches_path(path) for route in self._open_routes())
        if problem is not None or open_path:
            return problem
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if not scheme:  # Anthropic's clients send it by itself
            scheme, token = "bearer", headers.get("x-api-key", "")
        if scheme.lower() == "bearer" and await self._is_accepted(token.strip()):
            return None
        too_many = self._wrong.count_wrong_token()
        if too_many is not None:
            return too_many
        return ApiProblem(
            HTTPStatus.UNAUTHORIZED,
            "send the token of 'orchestrator api token' as Authorization: Bearer …",
            code="invalid_api_key",
        )

    async def _is_accepted(self, token: str) -> bool:
        if self.token.is_unchanged():
            return self.token.accepts_token(token)
        with suppress(TimeoutError):
            return await run_off_loop(self.token.accepts_token, token)
        return False


def _check_head(headers: Headers, doors: AllowedOrigins) -> ApiProblem | None:
    """Return the problem of a request's head, whatever its token."""
    # A page whose name was rebound to this address sends that name as Host, and no Origin.
    if not is_local(headers):
        problem = _check_host(headers.get("host", ""), doors)
        if problem is not None:
            return problem
    if not all(
        origin in doors.origins or LOCAL_SITE.fullmatch(origin)
        for origin in headers.getlist("origin")
    ):
        return ApiProblem(
            HTTPStatus.FORBIDDEN,
            "pages of sites that are not in channels.api.origins have no access",
        )
    if "transfer-encoding" in headers and "content-length" in headers:
        return ApiProblem(HTTPStatus.BAD_REQUEST, "a request must have exactly one length")
    return None


def _check_host(host: str, doors: AllowedOrigins) -> ApiProblem | None:
    """Return the problem of a Host header that does not name an admitted host."""
    found = NAMED_HOST.fullmatch(host)
    if found is not None and found[1].lower() in {name.lower() for name in doors.names}:
        return None
    message = "the Host header must be localhost, 127.0.0.1 or one of channels.api.names"
    return ApiProblem(HTTPStatus.FORBIDDEN, message)


def is_local(headers: Headers) -> bool:
    """Return whether the Host header is exactly a name of this machine."""
    return LOCAL_HOST.fullmatch(headers.get("host", "")) is not None
