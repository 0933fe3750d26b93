"""Admit programs on this machine that hold the token, and webhooks, which show another secret.

Everything here is decided from the head of a request, before any of its body is read. Only requests
with the token take slots, so that strangers cannot use them up.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.files import off_loop
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.refusal import Refusal
from orchestrator.http_api.token import TokenFile

HOST = r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?"
LOCAL_HOST = re.compile(HOST, re.IGNORECASE)
NAMED_HOST = re.compile(r"([A-Za-z0-9.-]+)(?::[0-9]{1,5})?")
LOCAL_SITE = re.compile(rf"https?://{HOST}", re.IGNORECASE)
PUBLIC = frozenset({"/healthz", "/readyz"})  # reveal nothing that needs the token
FAILURES, WINDOW = 30, 60.0  # wrong tokens within so many seconds, after which others must wait
MAX_REQUESTS = 200  # with the token, at a time
MAX_PROBES = 20  # of PUBLIC, at a time
HOOKS = "/hooks/"  # begins the paths of webhooks; their endpoint checks the signature
TELEGRAM = "/telegram"  # its endpoint checks Telegram's secret, before it reads a body
OWN_CHECK = PUBLIC | {TELEGRAM}
MAX_HOOKS = 20  # at a time, and as many of Telegram


@dataclass
class WrongTokens:
    """Counts wrong tokens; the right one is never counted, so its holder cannot be locked out.

    ``what`` is what they are called.
    """

    clock: Callable[[], float] = time.monotonic
    what: str = "tokens"
    _times: deque[float] = field(default_factory=partial(deque, maxlen=FAILURES), init=False)

    def too_many(self) -> ApiProblem | None:
        """Count a wrong token; return the problem if there were too many lately."""
        now = self.clock()
        if len(self._times) == FAILURES and now - self._times[0] < WINDOW:
            return ApiProblem(
                HTTPStatus.TOO_MANY_REQUESTS, f"too many wrong {self.what}", retry=round(WINDOW)
            )
        self._times.append(now)
        return None


@dataclass
class RequestSlots:
    """Places for requests that are answered at a time."""

    free: int

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Take a place while the block runs; yield whether there was one."""
        got = self.free > 0
        self.free -= got
        try:
            yield got
        finally:
            self.free += got


BUSY = ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests at a time", retry=1)


class Doors(NamedTuple):
    """By which other names clients reach the endpoints, and which other sites may ask."""

    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


CLOSED = Doors()


@dataclass
class Guard:
    """ASGI middleware that refuses requests without the token or from other sites."""

    app: ASGIApp
    token: TokenFile
    clock: Callable[[], float] = time.monotonic
    doors: Doors = CLOSED

    def __post_init__(self) -> None:
        self._wrong = WrongTokens(self.clock)
        self._requests, self._probes = RequestSlots(MAX_REQUESTS), RequestSlots(MAX_PROBES)
        self._hooks, self._pushes = RequestSlots(MAX_HOOKS), RequestSlots(MAX_HOOKS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = await self._problem(scope) if scope["type"] == "http" else None
        if problem is not None:
            await Refusal(problem, close=True)(scope, receive, send)
            return
        with self._slots(scope["path"]).taken() as free:
            await (self.app if free else Refusal(BUSY))(scope, receive, send)

    def _slots(self, path: str) -> RequestSlots:
        if path == TELEGRAM:
            return self._pushes
        if path.startswith(HOOKS):
            return self._hooks
        return self._probes if path in PUBLIC else self._requests

    async def _problem(self, scope: Scope) -> ApiProblem | None:
        headers, path = Headers(scope=scope), scope["path"]
        problem = _refused_head(headers, self.doors)
        if problem is not None or path in OWN_CHECK or path.startswith(HOOKS):
            return problem
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if not scheme:  # Anthropic's clients send it by itself
            scheme, token = "bearer", headers.get("x-api-key", "")
        if scheme.lower() == "bearer" and await self._accepted(token.strip()):
            return None
        too_many = self._wrong.too_many()
        if too_many is not None:
            return too_many
        return ApiProblem(
            HTTPStatus.UNAUTHORIZED,
            "send the token of 'orchestrator api token' as Authorization: Bearer …",
            code="invalid_api_key",
        )

    async def _accepted(self, token: str) -> bool:
        if self.token.unchanged():
            return self.token.accepts(token)
        with suppress(TimeoutError):
            return await off_loop(self.token.accepts, token)
        return False


def _refused_head(headers: Headers, doors: Doors) -> ApiProblem | None:
    """Return what is wrong with a request, whatever its token."""
    # A page whose name was rebound to this address sends that name as Host, and no Origin.
    if not is_local(headers):
        problem = _unnamed(headers.get("host", ""), doors)
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
        return ApiProblem(HTTPStatus.BAD_REQUEST, "a request has one length")
    return None


def _unnamed(host: str, doors: Doors) -> ApiProblem | None:
    """Refuse a Host header that, with or without a port, names no host that is let in."""
    found = NAMED_HOST.fullmatch(host)
    if found is not None and found[1].lower() in {name.lower() for name in doors.names}:
        return None
    message = "the Host header must be localhost, 127.0.0.1 or one of channels.api.names"
    return ApiProblem(HTTPStatus.FORBIDDEN, message)


def is_local(headers: Headers) -> bool:
    """Return whether the Host header is a name of this machine, and nothing else."""
    return LOCAL_HOST.fullmatch(headers.get("host", "")) is not None
