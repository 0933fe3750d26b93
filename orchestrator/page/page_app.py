"""The routes of the page: screens, forms, the stream of changes, and the files of the front end."""

import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import htpy as h
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from orchestrator.control.page_access import Right
from orchestrator.control.page_protocol import SEEN, SessionDigest
from orchestrator.control.protocol import Ack
from orchestrator.errors import OrchestratorError
from orchestrator.http_api.app import build_app
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.journal.access import web_sessions
from orchestrator.journal.access.web_sessions import WebSession
from orchestrator.journal.inspect import waiting
from orchestrator.page import acts
from orchestrator.page.body_reads import BodyReads
from orchestrator.page.daemon_link import TIMEOUT, SessionLink, SupervisorCalls
from orchestrator.page.html.layout import bare, page
from orchestrator.page.html.outside_text import plain
from orchestrator.page.live import LiveFeed
from orchestrator.page.login import Login, is_other, keep, token_of
from orchestrator.page.page_reads import PageReads
from orchestrator.page.screens import SCREENS
from orchestrator.page.screens.media_files import serve_media
from orchestrator.page.static_files import serve_file
from orchestrator.page.visit import Screen, Titled, Visit, Visitor
from thinker.protocol.peer import PeerClosedError, RpcError

RUN = secrets.token_hex(4)  # numbers of changes count for one process
UNKNOWN = "It is not known whether this was done: the daemon did not answer. Reload, and look."


@dataclass
class PageApp:
    """What the routes need. ``clock`` returns milliseconds since the epoch.

    Without a daemon, ``known`` finds sessions, and there is no action.
    ``hand_over`` sends the supervisor the connection of a request, and returns its number.
    """

    journal: PageReads
    daemon: SupervisorCalls
    zone: ZoneInfo
    clock: Callable[[], int]
    feed: LiveFeed
    used: Callable[[], None] = field(default=lambda: None)
    hand_over: Callable[[Request], int] = field(default=lambda _: 0)
    known: Callable[[str], WebSession | None] | None = None

    def __post_init__(self) -> None:
        self._login = Login(self.daemon, self.hand_over)
        self._bodies = BodyReads()

    def build(self, screens: Sequence[Screen] = SCREENS) -> Starlette:
        """Build the application."""
        routes = [
            Route("/static/{hash}/{name}", serve_file),
            Route("/in", self._in, methods=["GET", "POST"]),
            Route("/out", self._guarded(self._out), methods=["POST"]),
            Route("/act/{method:path}", self._guarded(self._act), methods=["POST"]),
            Route("/events", self._guarded(self._events)),
            Route("/media/{id}", self._guarded(self._media)),
            *(
                Route(screen.path, self._guarded(self._shown(screen), enters=True))
                for screen in screens
            ),
        ]
        return build_app(routes, _problem)

    # --- who asks --------------------------------------------------------------------------------

    def _guarded(
        self,
        answer: Callable[[Request, WebSession], Awaitable[Response]],
        *,
        enters: bool = False,
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a route for those who are logged in; others get the login page.

        ``enters`` logs in whom a proxy names.
        """

        async def guarded(request: Request) -> Response:
            self.used()
            with _told():
                token, fresh = token_of(request), None
                session = self._session(token)
                if session is None or is_other(request, session):
                    token = fresh = await self._login.identify(request) if enters else None
                    session = self._session(token)
                if session is None:
                    return self._login.stranger(request)
                if self.clock() - session.last_at > web_sessions.SEEN_EVERY:
                    await self._seen(session.digest)
                request.state.token = token
                found = await answer(request, session)
            if fresh is not None:
                keep(request, found, fresh)
            return found

        return guarded

    def _session(self, token: str | None) -> WebSession | None:
        if token is None:
            return None
        digest = web_sessions.digest(token)
        if self.known is not None:
            return self.known(digest)
        return self.journal.at_once(web_sessions.find, digest, self.clock())

    async def _seen(self, digest: str) -> None:
        try:
            await self.daemon.call(SEEN, SessionDigest(digest=digest), Ack, timeout=TIMEOUT)
        except (RpcError, PeerClosedError, TimeoutError):
            return  # it is noted at the next request

    async def _in(self, request: Request) -> Response:
        self.used()
        if request.method == "POST":
            with _told():
                form = await self._bodies.form(request)
                return await self._login.enter(request, form.fields)
        return self._login.screen(status=HTTPStatus.OK)

    async def _out(self, request: Request, session: WebSession) -> Response:
        form = await self._bodies.form(request, session.digest)
        if not _is_own(form.fields, request):
            return _stale()
        return await self._login.leave(request, session.digest)

    # --- what is shown ---------------------------------------------------------------------------

    def _shown(self, screen: Screen) -> Callable[[Request, WebSession], Awaitable[Response]]:
        async def shown(request: Request, session: WebSession) -> Response:
            visit = self.visit(request, session)
            if screen.right is not None and not visit.may(screen.right):
                return self._not_allowed(visit, screen)
            stamp = f"{RUN} {self.feed.stamp} {session.digest} {request.url}"
            etag = f'W/"{hashlib.sha256(stamp.encode()).hexdigest()[:24]}"'
            if request.headers.get("if-none-match") == etag:
                return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"etag": etag})
            found = await screen.body(visit)
            if isinstance(found, Response):
                return found
            titled = found if isinstance(found, Titled) else Titled(screen.title, found)
            return self._page(visit, screen, titled, headers={"etag": etag})

        return shown

    async def _media(self, request: Request, session: WebSession) -> Response:
        return await serve_media(self.visit(request, session))

    def _page(
        self,
        visit: Visit,
        screen: Screen,
        titled: Titled,
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
    ) -> HTMLResponse:
        badge = 0
        if visit.may(Right.DECIDE):
            badge = self.journal.at_once(waiting.count, visit.now)
        text = str(page(visit, titled.title, screen.place, titled.content, badge))
        return HTMLResponse(text, status, headers=headers)

    def visit(self, request: Request, session: WebSession, once: str = "") -> Visit:
        query = request.url.query
        return Visit(
            visitor=_visitor(session),
            csrf=csrf_value(request.state.token),
            at=request.url.path + (f"?{query}" if query else ""),
            path={name: str(value) for name, value in request.path_params.items()},
            query=dict(request.query_params),
            now=self.clock(),
            zone=self.zone,
            journal=self.journal,
            daemon=None
            if self.known is not None
            else SessionLink(self.daemon, session.digest, once),
            once=lambda: secrets.token_hex(8),
            growing=self.feed.text,
        )

    def _not_allowed(self, visit: Visit, screen: Screen) -> Response:
        first = next((s.path for s in SCREENS if s.right and visit.may(s.right)), "/manual")
        if screen.path == "/":  # where a login leads
            return RedirectResponse(first, HTTPStatus.SEE_OTHER)
        role = visit.visitor.role
        text = f"Your role is {role}, which does not see this. Ask the operator for another one."
        content = [h.p[text], h.p[h.a(href=first)["Go on"]]]
        return self._page(visit, screen, Titled("Not for this role", content), HTTPStatus.FORBIDDEN)

    # --- what is done ----------------------------------------------------------------------------

    async def _act(self, request: Request, session: WebSession) -> Response:
        form = await self._bodies.form(request, session.digest)
        fields = form.fields
        if not _is_own(fields, request):
            return _stale()
        method = request.path_params["method"]
        link = SessionLink(self.daemon, session.digest, fields.get("once", ""))
        await link.order(method, acts.params(method, fields, form.files))
        return RedirectResponse(_own_path(fields.get("back", "/")), HTTPStatus.SEE_OTHER)

    async def _events(self, request: Request, session: WebSession) -> Response:
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return Response("this stream is for this page\n", HTTPStatus.FORBIDDEN)
        if not self.feed.free():
            return Response(
                "too many open pages\n", HTTPStatus.SERVICE_UNAVAILABLE, {"retry-after": "10"}
            )
        return StreamingResponse(
            self._heard(request, session),
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},
        )

    async def _heard(self, request: Request, session: WebSession) -> AsyncIterator[bytes]:
        """Yield the events of a stream for as long as its session is good."""
        chat = _chat_of(request, _visitor(session))
        async with aclosing(self.feed.events(session.digest, chat)) as events:
            async for event in events:
                if self._session(request.state.token) is None:
                    return
                yield event


@contextmanager
def _told() -> Iterator[None]:
    """Make errors of the daemon and of the journal a page that says what happened."""
    try:
        yield
    except ApiProblem:
        raise
    except (RpcError, OrchestratorError) as error:
        raise ApiProblem(HTTPStatus.CONFLICT, str(error)) from error
    except (PeerClosedError, TimeoutError) as error:
        raise ApiProblem(HTTPStatus.GATEWAY_TIMEOUT, UNKNOWN) from error


def _visitor(session: WebSession) -> Visitor:
    return Visitor(session.user, session.role, session.agent_ids)


def _chat_of(request: Request, visitor: Visitor) -> str:
    """Return the key of the chat that the page which opens a stream shows, if it shows one."""
    key = unquote(request.query_params.get("at", "").partition("/chats/")[2])
    return key if visitor.sees(key) else ""


def csrf_value(token: str | None) -> str:
    """Return what the forms of a session carry, which only its own pages can know."""
    return hashlib.sha256(f"form {token}".encode()).hexdigest()[:32]


def _is_own(form: Mapping[str, str], request: Request) -> bool:
    """Return whether a form was made by the page for the session that sends it."""
    return form.get("csrf") == csrf_value(request.state.token)


def _own_path(back: str) -> str:
    """Return an address of this page to go back to, whatever the form says."""
    own = back.startswith("/") and not back.startswith(("//", "/\\"))
    return back if own and back.isprintable() else "/"


def _stale() -> Response:
    text = "This form is of another login, or was not made by this page. Open it again."
    return HTMLResponse(str(bare("Not done", h.p[text], h.a(href="/")["Go on"])), 403)


def _problem(problem: ApiProblem) -> Response:
    back = h.p[h.a(href="/")["Go on"]]
    told = plain(str(problem))
    content = bare("Not done", h.p(class_="problem", role="alert")[told], back)
    return HTMLResponse(str(content), problem.status, problem.headers())
