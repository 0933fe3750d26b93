"""Log people in by a code or a proxy's header, and recognize them by a cookie.

Where: does a person log in to the page?
"""

import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

import htpy as h
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from orchestrator.control.protocol import Ack
from orchestrator.extensions.page.daemon_link import TIMEOUT, SupervisorCalls
from orchestrator.extensions.page.daemon_side.page_protocol import (
    ENTER,
    IDENTIFY,
    LEAVE,
    SEEN,
    PageCode,
    PageEntry,
    ProxiedPerson,
    SessionDigest,
)
from orchestrator.extensions.page.forwarded import get_forwarded
from orchestrator.extensions.page.html.layout import render_bare_page
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import IDENTITY, WebSession
from thinker.protocol.peer import PeerClosedError, RpcError

COOKIE = "orchestrator"
SECURE_COOKIE = "__Host-orchestrator"  # where the browser came by https
BELOW_COOKIE = "__Secure-orchestrator"  # and below a path, which __Host- does not allow
TOKEN = re.compile(r"[0-9a-f]{64}")
MAX_WRONG_CODES = 30  # within `WINDOW_SECONDS`; after them others must wait
WINDOW_SECONDS = 60.0
COOKIE_SECONDS = web_sessions.MAX_AGE_MS // 1000
UNLISTED = (
    "The proxy identifies you as {person}, who is not in channels.web.identity.users of"
    " agents.json. Ask the operator, or log in with a code."
)


@dataclass
class Login:
    """Logs people in and out; ``hand_over`` sends the supervisor a request's connection."""

    daemon: SupervisorCalls
    hand_over: Callable[[Request], int] = lambda _: 0
    clock: Callable[[], float] = time.monotonic
    _times: deque[float] = field(default_factory=partial(deque, maxlen=MAX_WRONG_CODES), init=False)

    def show_login(self, problem: str = "", status: int = HTTPStatus.UNAUTHORIZED) -> Response:
        """Return the login page, which reveals nothing about the daemon."""
        return HTMLResponse(str(_render_login(problem)), status)

    async def log_in_by_code(self, request: Request, form: Mapping[str, str]) -> Response:
        """Check a code, and give the browser the token of a new session.

        Correct codes do not count, so guessing cannot lock the owner out.
        """
        code = PageCode(code=form.get("code", ""), label=_describe_browser(request))
        entry = await self.daemon.call(ENTER, code, PageEntry, timeout=TIMEOUT)
        if entry.token is None:
            return self._refuse_wrong_code()
        answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        set_token_cookie(request, answer, entry.token)
        return answer

    async def log_in_by_proxy(self, request: Request) -> str | None:
        """Return the token of a new session for the person whom the proxy names, or None."""
        named = get_forwarded(request.scope).person
        if not named:
            return None
        number = self.hand_over(request)
        person = ProxiedPerson(named=named, label=_describe_browser(request), connection=number)
        return (await self.daemon.call(IDENTIFY, person, PageEntry, timeout=TIMEOUT)).token

    def show_stranger_login(self, request: Request) -> Response:
        """Return the login page for someone without a session, possibly named by the proxy."""
        person = get_forwarded(request.scope).person
        return self.show_login(
            UNLISTED.format(person=show_hidden_characters(person)) if person else ""
        )

    async def log_out(self, request: Request, digest: str) -> Response:
        await self.daemon.call(LEAVE, SessionDigest(digest=digest), Ack, timeout=TIMEOUT)
        answer = RedirectResponse("/in", HTTPStatus.SEE_OTHER)
        name, path, secure = _choose_cookie(request)
        answer.delete_cookie(name, path, secure=secure, httponly=True, samesite="strict")
        return answer

    async def record_use(self, session: WebSession) -> None:
        """Tell the daemon that a session is used; after a failure, the next use tells it."""
        digest = SessionDigest(digest=session.digest)
        with suppress(RpcError, PeerClosedError, TimeoutError):
            await self.daemon.call(SEEN, digest, Ack, timeout=TIMEOUT)

    def _refuse_wrong_code(self) -> Response:
        """Refuse a wrong code, and count it."""
        now = self.clock()
        if len(self._times) == MAX_WRONG_CODES and now - self._times[0] < WINDOW_SECONDS:
            problem = "Too many wrong codes. Wait a minute, and try again."
            return self.show_login(problem, HTTPStatus.TOO_MANY_REQUESTS)
        self._times.append(now)
        return self.show_login("This code is wrong, older than two minutes, or used already.")


def set_token_cookie(request: Request, answer: Response, token: str) -> None:
    """Make a browser keep the token of its session."""
    name, path, secure = _choose_cookie(request)
    answer.set_cookie(
        name, token, COOKIE_SECONDS, path=path, secure=secure, httponly=True, samesite="strict"
    )


def find_token(request: Request) -> str | None:
    """Return the well-formed token of a request, if it has exactly one.

    With several, none counts: another program on this machine, or at a neighboring name, may have
    set one.
    """
    name = _choose_cookie(request)[0]
    parts = ";".join(request.headers.getlist("cookie")).split(";")
    pairs = (part.strip().partition("=") for part in parts)
    found = [value for key, _, value in pairs if key == name]
    return found[0] if len(found) == 1 and TOKEN.fullmatch(found[0]) else None


def is_other_person(request: Request, session: WebSession) -> bool:
    """Return whether the proxy names another person than when it made the session."""
    person = get_forwarded(request.scope).person
    return bool(person) and session.made_by == IDENTITY and person.lower() != session.user.lower()


def _choose_cookie(request: Request) -> tuple[str, str, bool]:
    """Return the cookie's name and path, and whether the cookie is for https only."""
    came = get_forwarded(request.scope)
    if not came.https:
        return COOKIE, came.prefix or "/", False
    return (BELOW_COOKIE, came.prefix, True) if came.prefix else (SECURE_COOKIE, "/", True)


def _describe_browser(request: Request) -> str:
    """Return the browser's description of itself, with its address if known from a proxy."""
    client = get_forwarded(request.scope).client
    return " ".join(filter(None, (client, request.headers.get("user-agent", ""))))


def _render_login(problem: str) -> h.Element:
    return render_bare_page(
        "Log in",
        h.p(class_="problem", role="alert")[problem] if problem else None,
        h.p[
            "Run ",
            h.code["orchestrator dashboard"],
            " in a terminal, and open the link that it prints.",
        ],
        h.p["If you were invited, ask who invited you for a new link."],
        h.form(method="post", action="/in")[
            h.label[
                h.span["Or paste its code, the part after #"],
                h.input(id="code", name="code", autocomplete="off", required=True, size="40"),
            ],
            " ",
            h.button(class_="do")["Log in"],
        ],
    )
