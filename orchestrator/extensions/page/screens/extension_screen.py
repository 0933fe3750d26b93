"""Screens of other extensions, which the supervisor renders as Markdown."""

from http import HTTPStatus

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side.page_protocol import (
    SCREEN_SHOW,
    ScreenText,
    ShownScreen,
)
from orchestrator.extensions.page.html.markdown import render_markdown
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.peer import INTERNAL, RpcError


async def _show_added_screen(request: ScreenRequest) -> ScreenResult:
    if request.daemon is None:
        return h.p(class_="empty")["An extension shows this while the daemon runs."]
    if request.path["name"] not in {link.path for link in request.added}:
        raise ApiProblem(HTTPStatus.NOT_FOUND, "No extension has this screen.")
    asked = ShownScreen(path=request.path["name"], query=dict(request.query))
    try:
        found = await request.daemon.ask_daemon(SCREEN_SHOW, asked, ScreenText)
    except RpcError as error:
        if error.code != INTERNAL:
            raise
        raise ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, str(error)) from error
    return TitledContent(found.title, h.article(class_="manual")[render_markdown(found.text)])


SCREENS = (
    PageScreen("/x/{name}", "Screen", Right.READ, _show_added_screen, "", from_journal=False),
)
