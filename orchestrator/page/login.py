"""Letting someone in by a code, and knowing them again by a cookie."""

import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

import htpy as h
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from orchestrator.control.page_protocol import ENTER, LEAVE, PageCode, PageEntry, SessionDigest
from orchestrator.control.protocol import Ack
from orchestrator.journal.access import web_sessions
from orchestrator.page.daemon_link import TIMEOUT, SupervisorCalls
from orchestrator.page.html.layout import bare

COOKIE = "orchestrator"
SECURE_COOKIE = "__Host-orchestrator"  # where the browser came by https
TOKEN = re.compile(r"[0-9a-f]{64}")
WRONG, WINDOW = 30, 60.0  # wrong codes within so many seconds, after which others must wait
AGE = web_sessions.LONGEST // 1000  # seconds


@dataclass
class Login:
    """Logs people in and out."""

    daemon: SupervisorCalls
    clock: Callable[[], float] = time.monotonic
    _times: deque[float] = field(default_factory=partial(deque, maxlen=WRONG), init=False)

    def screen(self, problem: str = "", status: int = HTTPStatus.UNAUTHORIZED) -> Response:
        """Return the login page, which tells nothing about the daemon."""
        return HTMLResponse(str(_login(problem)), status)

    async def enter(self, request: Request, form: dict[str, str]) -> Response:
        """Take a code, and give the browser the token of a new session."""
        if self._too_many():
            problem = "Too many wrong codes. Wait a minute, and try again."
            return self.screen(problem, HTTPStatus.TOO_MANY_REQUESTS)
        code = PageCode(code=form.get("code", ""), label=request.headers.get("user-agent", ""))
        entry = await self.daemon.call(ENTER, code, PageEntry, timeout=TIMEOUT)
        if entry.token is None:
            self._times.append(self.clock())
            return self.screen("This code is wrong, older than two minutes, or used already.")
        answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        secure = _secure(request)
        answer.set_cookie(
            SECURE_COOKIE if secure else COOKIE,
            entry.token,
            max_age=AGE,
            secure=secure,
            httponly=True,
            samesite="strict",
        )
        return answer

    async def leave(self, digest: str) -> Response:
        await self.daemon.call(LEAVE, SessionDigest(digest=digest), Ack, timeout=TIMEOUT)
        answer = RedirectResponse("/in", HTTPStatus.SEE_OTHER)
        answer.delete_cookie(COOKIE)
        answer.delete_cookie(SECURE_COOKIE, secure=True)
        return answer

    def _too_many(self) -> bool:
        return len(self._times) == WRONG and self.clock() - self._times[0] < WINDOW


def token_of(request: Request) -> str | None:
    """Return the token of a request, if it has one of the right form."""
    found = request.cookies.get(SECURE_COOKIE) or request.cookies.get(COOKIE) or ""
    return found if TOKEN.fullmatch(found) else None


def _secure(request: Request) -> bool:
    """Return whether the browser came by https, through a proxy on this machine."""
    return request.headers.get("x-forwarded-proto", "").lower() == "https"


def _login(problem: str) -> h.Element:
    return bare(
        "Log in",
        h.p(class_="problem", role="alert")[problem] if problem else None,
        h.p[
            "Run ",
            h.code["orchestrator dashboard"],
            " in a terminal, and open the link that it prints.",
        ],
        h.form(method="post", action="/in")[
            h.label[
                h.span["Or paste its code, the part after #"],
                h.input(id="code", name="code", autocomplete="off", required=True, size="40"),
            ],
            " ",
            h.button(class_="first")["Log in"],
        ],
    )
