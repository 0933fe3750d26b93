"""The routes of the page: screens, forms, the stream of changes, and the files of the front end.

Where: are the page's forms protected against CSRF?
"""

import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from io import BytesIO
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote
from zoneinfo import ZoneInfo

import htpy as h
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Match, Route

from orchestrator.control.roles import Right
from orchestrator.errors import QueryTimeoutError
from orchestrator.extensions.page.body_reads import BodyReads, Form
from orchestrator.extensions.page.daemon_link import SessionLink, SupervisorCalls
from orchestrator.extensions.page.daemon_side.page_access import LONG_METHODS, READ_METHODS
from orchestrator.extensions.page.html.layout import render_page
from orchestrator.extensions.page.live import LiveFeed, LiveWindow
from orchestrator.extensions.page.login import Login, find_token, is_other_person, set_token_cookie
from orchestrator.extensions.page.page_problems import (
    refuse_stale_form,
    render_problem,
    translate_errors,
)
from orchestrator.extensions.page.page_wire import ScreenLink
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import WebSession
from orchestrator.extensions.page.redraws import MarkReader, RedrawMark, RedrawPaces
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    TitledContent,
    Viewer,
)
from orchestrator.extensions.page.screens import SCREENS
from orchestrator.extensions.page.screens.media_files import serve_media
from orchestrator.extensions.page.static_files import serve_file
from orchestrator.journal.engine import PageReads
from orchestrator.web.app import build_app
from orchestrator.web.error_response import ApiProblem

POLL_HEADER = "x-poll"  # of a window without a stream, which asks whether or not there are changes
NO_PAGE = "The address is misspelt, or what stood there is gone. Choose a screen of the menu."
CUT = "Reading the journal for this took too long, and was cut off."


class ScreenAddress(NamedTuple):
    """The address of a screen, with the parameters of its path."""

    path: str
    query: str
    params: Mapping[str, object]

    @property
    def whole(self) -> str:
        """The path with its query."""
        return self.path + (f"?{self.query}" if self.query else "")


@dataclass
class PageApp:
    """Serves the routes; ``clock`` returns milliseconds since the epoch.

    Without a daemon, ``known`` finds sessions, and nothing can be changed.
    ``added`` are screens of other extensions. ``hand_over`` sends the supervisor the connection of
    a request, and returns its number.
    """

    journal: PageReads
    daemon: SupervisorCalls
    zone: ZoneInfo
    clock: Callable[[], int]
    feed: LiveFeed
    used: Callable[[], None] = field(default=lambda: None)
    hand_over: Callable[[Request], int] = field(default=lambda _: 0)
    known: Callable[[str], WebSession | None] | None = None
    added: tuple[ScreenLink, ...] = ()

    def __post_init__(self) -> None:
        self._login = Login(self.daemon, self.hand_over)
        self._bodies, self._paces = BodyReads(), RedrawPaces()
        self._marks = MarkReader(self.journal, self.feed.version, lambda: self.feed.changes_outside)
        self._screens: list[tuple[Route, PageScreen]] = []

    def build_application(self, screens: Sequence[PageScreen] = SCREENS) -> Starlette:
        """Build the application."""
        self._screens = [(self._build_route(screen), screen) for screen in screens]
        routes = [
            Route("/static/{hash}/{name}", serve_file),
            Route("/in", self._log_in, methods=["GET", "POST"]),
            Route("/out", self._require_login(self._log_out), methods=["POST"]),
            Route("/act/{method:path}", self._require_login(self._perform_act), methods=["POST"]),
            Route("/events", self._require_login(self._open_event_stream)),
            Route("/media/{id}", self._require_login(self._send_media)),
            *(route for route, _ in self._screens),
            Route("/{path:path}", self._require_login(self._show_missing), methods=["GET"]),
        ]
        return build_app(routes, render_problem)

    def _build_route(self, screen: PageScreen) -> Route:
        return Route(
            screen.path,
            self._require_login(self._make_screen_handler(screen), enters=True),
            methods=["GET", "POST"] if screen.posts else ["GET"],
        )

    # --- logins ----------------------------------------------------------------------------------

    def _require_login(
        self,
        answer: Callable[[Request, WebSession], Awaitable[Response]],
        *,
        enters: bool = False,
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a route for logged-in people; others get the login page.

        ``enters`` logs in the person whom a proxy names.
        """

        async def answer_logged_in(request: Request) -> Response:
            self.used()
            with translate_errors():
                token, fresh = find_token(request), None
                session = self._find_session(token)
                if session is None or is_other_person(request, session):
                    token = fresh = await self._login.log_in_by_proxy(request) if enters else None
                    session = self._find_session(token)
                if session is None:
                    return self._login.show_stranger_login(request)
                if self.clock() - session.last_at > web_sessions.USE_INTERVAL_MS:
                    await self._login.record_use(session)
                request.state.token = token
                found = await answer(request, session)
            if fresh is not None:
                set_token_cookie(request, found, fresh)
            return found

        return answer_logged_in

    def _find_session(self, token: str | None) -> WebSession | None:
        if token is None:
            return None
        digest = web_sessions.hash_secret(token)
        if self.known is not None:
            return self.known(digest)
        return self.journal.read_now(web_sessions.find_session, digest, self.clock())

    async def _log_in(self, request: Request) -> Response:
        self.used()
        if request.method == "POST":
            with translate_errors():
                form = await self._bodies.read_form(request)
                return await self._login.log_in_by_code(request, form.fields)
        return self._login.show_login(status=HTTPStatus.OK)

    async def _log_out(self, request: Request, session: WebSession) -> Response:
        form = await self._bodies.read_form(request, session.digest)
        if not _is_own_form(form.fields, request):
            return refuse_stale_form()
        return await self._login.log_out(request, session.digest)

    # --- what is shown ---------------------------------------------------------------------------

    def _make_screen_handler(
        self, screen: PageScreen
    ) -> Callable[[Request, WebSession], Awaitable[Response]]:
        async def show_screen(request: Request, session: WebSession) -> Response:
            screen_request = self.build_screen_request(request, session)
            if screen.right is not None and not screen_request.has_right(screen.right):
                return self._refuse_screen(screen_request, screen)
            if request.method == "POST":
                return await self._answer_posted_screen(request, session, screen)
            return await self._answer_screen(request, screen_request, screen)

        return show_screen

    async def _answer_screen(
        self, request: Request, screen_request: ScreenRequest, screen: PageScreen
    ) -> Response:
        """Show a screen, unless the browser has what it shows."""
        mark = await self._marks.read_mark(screen, screen_request)
        etag, known = f'W/"{mark.whole}"', request.headers.get("if-none-match")
        window = screen_request.digest, screen_request.at
        if known is not None and screen.from_journal:
            polls = POLL_HEADER in request.headers
            if known == etag or (polls and self._paces.find_wait(*window, soon=False) > 0):
                return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"etag": known})
        began = time.thread_time()
        shown = replace(screen_request, seen=mark.whole)
        answer = await self._show_body(shown, screen, {"etag": etag})
        if known is not None:
            self._paces.charge(*window, time.thread_time() - began)
        return answer

    async def _answer_posted_screen(
        self, request: Request, session: WebSession, screen: PageScreen
    ) -> Response:
        """Show a screen with the fields of a form that was sent to it."""
        edits = Right.CHANGE in _build_viewer(session).rights
        form = await self._bodies.read_form(request, session.digest, long=edits)
        if not _is_own_form(form.fields, request):
            return refuse_stale_form()
        screen_request = self.build_screen_request(request, session, form)
        return await self._show_body(screen_request, screen)

    async def _show_body(
        self,
        screen_request: ScreenRequest,
        screen: PageScreen,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Show a screen; one that reads for too long has its frame, and says what to do."""
        try:
            found = await screen.body(screen_request)
        except QueryTimeoutError:
            titled = TitledContent(screen.title, h.p(class_="problem")[CUT, " ", screen.when_cut])
            status = HTTPStatus.SERVICE_UNAVAILABLE  # so that a browser keeps what it shows
            return self._render_screen(
                screen_request, screen.place, titled, status, {"retry-after": "1"}
            )
        if isinstance(found, Response):
            return found
        titled = found if isinstance(found, TitledContent) else TitledContent(screen.title, found)
        return self._render_screen(screen_request, screen.place, titled, headers=headers)

    async def _send_media(self, request: Request, session: WebSession) -> Response:
        return await serve_media(self.build_screen_request(request, session))

    def _render_screen(
        self,
        screen_request: ScreenRequest,
        place: str,
        titled: TitledContent,
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
    ) -> HTMLResponse:
        badge = self._marks.count_waiting(screen_request)
        page = render_page(screen_request, titled, place, badge)
        content = BytesIO()  # without a list of all pieces, which takes megabytes
        content.writelines(map(str.encode, page.iter_chunks()))
        return HTMLResponse(content.getvalue(), status, headers=headers)

    def build_screen_request(
        self,
        request: Request,
        session: WebSession,
        form: Form | None = None,
        *,
        address: ScreenAddress | None = None,
    ) -> ScreenRequest:
        """Build the request for the screen at an address, by default that of ``request``."""
        fields = {} if form is None else form.fields
        if address is None:
            address = ScreenAddress(request.url.path, request.url.query, request.path_params)
        return ScreenRequest(
            viewer=_build_viewer(session),
            csrf=build_csrf_value(request.state.token),
            at=address.whole,
            path={name: str(value) for name, value in address.params.items()},
            query=dict(parse_qsl(address.query, keep_blank_values=True)),
            now=self.clock(),
            zone=self.zone,
            journal=self.journal,
            daemon=None
            if self.known is not None
            else SessionLink(self.daemon, session.digest, fields.get("once", "")),
            once=lambda: secrets.token_hex(8),
            form=fields,
            growing=self.feed.find_answer_text,
            added=self.added,
            digest=session.digest,
        )

    async def _show_missing(self, request: Request, session: WebSession) -> Response:
        screen_request = self.build_screen_request(request, session)
        content = [h.p[NO_PAGE], h.p[h.a(href=_find_first_path(screen_request))["Go on"]]]
        titled = TitledContent("There is no such page", content)
        return self._render_screen(screen_request, "", titled, HTTPStatus.NOT_FOUND)

    def _refuse_screen(self, screen_request: ScreenRequest, screen: PageScreen) -> Response:
        first = _find_first_path(screen_request)
        if screen.path == "/":  # where a login leads
            return RedirectResponse(first, HTTPStatus.SEE_OTHER)
        role = screen_request.viewer.role
        text = f"Your role, {role}, may not see this. Ask the operator for another one."
        content = [h.p[text], h.p[h.a(href=first)["Go on"]]]
        return self._render_screen(
            screen_request,
            screen.place,
            TitledContent("Not for this role", content),
            HTTPStatus.FORBIDDEN,
        )

    # --- what is done ----------------------------------------------------------------------------

    async def _perform_act(self, request: Request, session: WebSession) -> Response:
        method = request.path_params["method"]
        edits = method in LONG_METHODS and Right.CHANGE in _build_viewer(session).rights
        form = await self._bodies.read_form(request, session.digest, long=edits)
        fields = form.fields
        if not _is_own_form(fields, request):
            return refuse_stale_form()
        if method in READ_METHODS:
            raise ApiProblem(HTTPStatus.CONFLICT, f"{method} changes nothing, so it has no form")
        link = SessionLink(self.daemon, session.digest, fields.get("once", ""))
        await link.send_form(method, form.list_params())
        return RedirectResponse(_choose_return_path(fields.get("back", "/")), HTTPStatus.SEE_OTHER)

    async def _open_event_stream(self, request: Request, session: WebSession) -> Response:
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return Response("this stream is for this page\n", HTTPStatus.FORBIDDEN)
        if not self.feed.has_free_stream():
            return Response(
                "too many open pages\n", HTTPStatus.SERVICE_UNAVAILABLE, {"retry-after": "10"}
            )
        return StreamingResponse(
            self._stream_session_events(request, session),
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},
        )

    async def _stream_session_events(
        self, request: Request, session: WebSession
    ) -> AsyncIterator[bytes]:
        """Yield the events of a stream while its session is valid."""
        window = self._build_window(request, session)
        async with aclosing(self.feed.stream_events(window)) as events:
            async for event in events:
                if self._find_session(request.state.token) is None:
                    return
                yield event

    def _build_window(self, request: Request, session: WebSession) -> LiveWindow:
        """Build the window that opens a stream, which says what it shows, and what it has seen."""
        at, seen = request.query_params.get("at", ""), request.query_params.get("seen", "")
        viewer = _build_viewer(session)
        window = LiveWindow(session.digest, _find_shown_chat(at, viewer), seen)
        found = self._find_screen(at)
        if found is None or not (found[0].right is None or found[0].right in viewer.rights):
            return window
        screen, address = found

        async def read_mark() -> RedrawMark:
            shown = self.build_screen_request(request, session, address=address)
            return await self._marks.read_mark(screen, shown)

        def find_wait(soon: bool) -> float:  # noqa: FBT001 - one value that says all
            return self._paces.find_wait(session.digest, address.whole, soon=soon)

        return replace(window, read_mark=read_mark, find_wait=find_wait)

    def _find_screen(self, at: str) -> tuple[PageScreen, ScreenAddress] | None:
        """Return the screen at an address of this page, with the parts of the address."""
        path, _, query = at.partition("?")
        scope = {"type": "http", "method": "GET", "path": unquote(path)}
        for route, screen in self._screens:
            match, child = route.matches(scope)
            if match is Match.FULL:
                return screen, ScreenAddress(unquote(path), query, child["path_params"])
        return None


def _find_first_path(request: ScreenRequest) -> str:
    """Return the first screen that a role may see."""
    allowed = (one.path for one in SCREENS if one.right and request.has_right(one.right))
    return next(allowed, "/manual")


def _build_viewer(session: WebSession) -> Viewer:
    return Viewer(session.user, session.role, session.agent_ids)


def _find_shown_chat(at: str, viewer: Viewer) -> str:
    """Return the key of the chat that the screen at an address shows, if any."""
    key = unquote(at.partition("?")[0].partition("/chats/")[2])
    return key if viewer.can_see_chat(key) else ""


def build_csrf_value(token: str | None) -> str:
    """Return the value in a session's forms that only its own pages can know."""
    return hashlib.sha256(f"form {token}".encode()).hexdigest()[:32]


def _is_own_form(form: Mapping[str, str], request: Request) -> bool:
    """Return whether the page made a form for the session that sends it."""
    return form.get("csrf") == build_csrf_value(request.state.token)


def _choose_return_path(back: str) -> str:
    """Return an address of this page to return to, whatever the form says."""
    own = back.startswith("/") and not back.startswith(("//", "/\\"))
    return back if own and back.isprintable() else "/"
