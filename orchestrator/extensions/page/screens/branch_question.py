"""Ask before a chat is forked or rewound: what stays as it is, and what is not repeated."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import NamedTuple

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import (
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.reads import branch_points
from orchestrator.extensions.page.reads.branch_points import TurnPoint
from orchestrator.extensions.page.screen_request import (
    OWN,
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
    Viewer,
)
from orchestrator.extensions.page.screens.trial_words import format_question
from thinker.protocol.names import format_chat_name
from thinker.protocol.peer import FAILED, RpcError

FORK, REWIND = "branches/fork", "branches/rewind"
MAX_NAMES = 5  # of tools
MAX_ASKED = 200  # characters of the question
MISSING = "This turn does not exist, or belongs to a chat that is not yours."


class _Branch(NamedTuple):
    """A way to go on from an earlier point: its method and words."""

    method: str
    title: str
    about: str


BRANCHES = {
    "fork": _Branch(
        FORK,
        "Fork from here",
        "A new chat on this page goes on from this answer. This chat stays as it is.",
    ),
    "rewind": _Branch(
        REWIND,
        "Rewind to here",
        "This chat goes on from this answer, and the agent stops reading what came after it.",
    ),
}


class BranchedTurn(CamelModel):
    """The turn after which a conversation goes on."""

    turn: str


class BranchedChat(CamelModel):
    """The conversation that goes on; ``url`` is its place on the page, if it has one."""

    chat: str
    text: str = ""
    url: str | None = None


def can_branch_chat(viewer: Viewer, key: str) -> bool:
    """Return whether a person may fork or rewind a chat: their own ones, and operators all."""
    own = Right.CHAT in viewer.rights and key.startswith(f"{OWN}{viewer.user}/")
    return own or Right.CHANGE in viewer.rights


@edit_calls.need_daemon
async def _show_question(request: ScreenRequest) -> ScreenResult:
    point = await request.journal(branch_points.find_branch_point, request.path["turn"])
    if point is None or not can_branch_chat(request.viewer, point.turn.chat_key):
        return render_blank(MISSING, render_link_button("All chats", "/chats"), "chats")
    branch = BRANCHES[request.at.split("/")[1]]
    if not request.form:
        return render_question(request, point, branch)
    asked = BranchedTurn(turn=point.turn.id)
    try:
        found = await edit_calls.ask_extension(request, branch.method, asked, BranchedChat)
    except RpcError as error:
        if error.code != FAILED:
            raise
        return render_question(request, point, branch, strip_terminal_codes(str(error)))
    own = found.url is not None and found.url.startswith("/chats/")
    path = found.url if own else f"/chats/{point.turn.chat_key}"
    return RedirectResponse(str(path), HTTPStatus.SEE_OTHER)


def render_question(
    request: ScreenRequest, point: TurnPoint, branch: _Branch, problem: str = ""
) -> TitledContent:
    """Render what is about to happen, and the button that does it."""
    turn = point.turn
    back = f"/chats/{turn.chat_key}?turn={turn.id}#turn-{turn.id}"
    return TitledContent(
        branch.title,
        render_panel(
            "What stays as it is",
            render_note(problem, kind="bad") if problem else None,
            h.blockquote(class_="held")[format_question(turn.asked, MAX_ASKED)],
            h.p[branch.about],
            h.ul[(h.li[line] for line in _iter_consequences(point, branch))],
            h.form(method="post", class_="row")[
                render_hidden_fields(request),
                render_button(branch.title, "do"),
                render_link_button("Back to the chat", back),
            ],
        ),
        lead=show_hidden_characters(format_chat_name(turn.chat_key)),
    )


def _iter_consequences(point: TurnPoint, branch: _Branch) -> Iterator[str]:
    """Yield what cannot be taken back, as far as the journal knows it."""
    if point.later:
        later = f"{figures.format_plural(point.later, 'later answer')} with what was asked"
        yield f"{later}: they stay in {'this' if branch.method == REWIND else 'the old'} chat."
    else:
        yield "Nothing was said in this chat after it."
    if point.calls:
        names = ", ".join(
            f"{show_hidden_characters(name)}{f' ({count} times)' if count > 1 else ''}"
            for name, count in point.calls[:MAX_NAMES]
        )
        rest = len(point.calls) - MAX_NAMES
        more = f" and {rest} more" if rest > 0 else ""
        yield (
            f"What was done since stays done: {names}{more}. The same call is answered from its"
            " record, and one like it asks first."
        )
    if branch.method == FORK:
        yield "Facts and tasks that came of later answers are not known in the new chat."
    else:
        yield "Facts, profile, playbooks and tasks that came of later answers stay."
        yield "What waits for a decision because of a later answer is withdrawn."
    yield "Files are not taken back."


SCREENS = tuple(
    PageScreen(
        f"/{name}/{{turn}}",
        branch.title,
        Right.CHAT,
        _show_question,
        "Chats",
        from_journal=False,
        posts=True,
    )
    for name, branch in BRANCHES.items()
)
