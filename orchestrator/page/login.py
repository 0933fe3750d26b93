"""Letting someone in, by a code or by the word of a proxy, and knowing them again by a cookie."""

import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

import htpy as h
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from orchestrator.control.page_protocol import (
    ENTER,
    IDENTIFY,
    LEAVE,
    PageCode,
    PageEntry,
    ProxiedPerson,
    SessionDigest,
)
from orchestrator.control.protocol import Ack
from orchestrator.journal.access import web_sessions
from orchestrator.journal.access.web_sessions import IDENTITY, WebSession
from orchestrator.page.daemon_link import TIMEOUT, SupervisorCalls
from orchestrator.page.forwarded import forwarded_of
from orchestrator.page.html.layout import bare
from orchestrator.page.html.outside_text import visible

COOKIE = "orchestrator"
SECURE_COOKIE = "__Host-orchestrator"  # where the browser came by https
BELOW_COOKIE = "__Secure-orchestrator"  # and below a path, which __Host- does not allow
TOKEN = re.compile(r"[0-9a-f]{64}")
WRONG, WINDOW = 30, 60.0  # wrong codes within so many seconds, after which others must wait
AGE = web_sessions.LONGEST // 1000  # seconds
UNLISTED = (
    "The proxy says that you are {person}, who is not in channels.web.identity.users of"
    " agents.json. Ask the operator, or log in with a code."
)


@dataclass
class Login:
    """Logs people in and out. ``hand_over`` sends the supervisor the connection of a request."""

    daemon: SupervisorCalls
    hand_over: Callable[[Request], int] = lambda _: 0
    clock: Callable[[], float] = time.monotonic
    _times: deque[float] = field(default_factory=partial(deque, maxlen=WRONG), init=False)

    def screen(self, problem: str = "", status: int = HTTPStatus.UNAUTHORIZED) -> Response:
        """Return the login page, which tells nothing about the daemon."""
        return HTMLResponse(str(_login(problem)), status)

    async def enter(self, request: Request, form: Mapping[str, str]) -> Response:
        """Take a code, and give the browser the token of a new session.

        A right code is never counted, so that no one's guesses lock its holder out.
        """
        code = PageCode(code=form.get("code", ""), label=_label(request))
        entry = await self.daemon.call(ENTER, code, PageEntry, timeout=TIMEOUT)
        if entry.token is None:
            return self._wrong()
        answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        keep(request, answer, entry.token)
        return answer

    async def identify(self, request: Request) -> str | None:
        """Return the token of a new session for whom the proxy names; None if it is no one."""
        named = forwarded_of(request.scope).person
        if not named:
            return None
        number = self.hand_over(request)
        person = ProxiedPerson(named=named, label=_label(request), connection=number)
        return (await self.daemon.call(IDENTIFY, person, PageEntry, timeout=TIMEOUT)).token

    def stranger(self, request: Request) -> Response:
        """Return the login page for someone without a session, whom the proxy may name."""
        person = forwarded_of(request.scope).person
        return self.screen(UNLISTED.format(person=visible(person)) if person else "")

    async def leave(self, request: Request, digest: str) -> Response:
        await self.daemon.call(LEAVE, SessionDigest(digest=digest), Ack, timeout=TIMEOUT)
        answer = RedirectResponse("/in", HTTPStatus.SEE_OTHER)
        name, path, secure = _cookie(request)
        answer.delete_cookie(name, path, secure=secure, httponly=True, samesite="strict")
        return answer

    def _wrong(self) -> Response:
        """Refuse a wrong code, and count it."""
        now = self.clock()
        if len(self._times) == WRONG and now - self._times[0] < WINDOW:
            problem = "Too many wrong codes. Wait a minute, and try again."
            return self.screen(problem, HTTPStatus.TOO_MANY_REQUESTS)
        self._times.append(now)
        return self.screen("This code is wrong, older than two minutes, or used already.")


def keep(request: Request, answer: Response, token: str) -> None:
    """Let a browser keep the token of its session."""
    name, path, secure = _cookie(request)
    answer.set_cookie(name, token, AGE, path=path, secure=secure, httponly=True, samesite="strict")


def token_of(request: Request) -> str | None:
    """Return the token of a request, if it has one of the right form.

    Of several none counts: another program on this machine, or at a neighboring name, may have set
    one of them.
    """
    name = _cookie(request)[0]
    parts = ";".join(request.headers.getlist("cookie")).split(";")
    pairs = (part.strip().partition("=") for part in parts)
    found = [value for key, _, value in pairs if key == name]
    return found[0] if len(found) == 1 and TOKEN.fullmatch(found[0]) else None


def is_other(request: Request, session: WebSession) -> bool:
    """Return whether the proxy names someone else than the person of a session that it made."""
    person = forwarded_of(request.scope).person
    return bool(person) and session.made_by == IDENTITY and person.lower() != session.user.lower()


def _cookie(request: Request) -> tuple[str, str, bool]:
    """Return name and path of the cookie, and whether it is for https alone."""
    came = forwarded_of(request.scope)
    if not came.https:
        return COOKIE, came.prefix or "/", False
    return (BELOW_COOKIE, came.prefix, True) if came.prefix else (SECURE_COOKIE, "/", True)


def _label(request: Request) -> str:
    """Return what a browser calls itself, and its address if a proxy tells it."""
    client = forwarded_of(request.scope).client
    return " ".join(filter(None, (client, request.headers.get("user-agent", ""))))


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
