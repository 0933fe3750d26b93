"""The people: chats that may write or ask to, and who may use the page."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control import protocol
from orchestrator.control.protocol import AdmittedChat, StatusReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.daemon_side.page_protocol import (
    DASHBOARD_INVITE,
    DASHBOARD_REVOKE,
    DASHBOARD_SESSIONS,
    PageAddress,
    PageGuest,
    PageSession,
    PageSessions,
)
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.browser_names import name_browser
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_act_button,
    render_asking_button,
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.icons import render_icon
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_choice,
    render_field,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.known_agents import (
    KnownAgents,
    has_agent,
    read_known_agents,
    render_agent_choice,
    render_suggestions,
)
from orchestrator.extensions.page.setup_answers import (
    PAIR_REFUSE,
    PAIR_RESTORE,
    PEOPLE_LIST,
    ChatAdmission,
    ListedPeople,
    ListedPerson,
)
from orchestrator.web.error_response import ApiProblem

CHAT_ACTS = ("in", "role")
CHAT_ROLES = (("talk", "talk"), ("approve", "talk and approve calls"), ("operate", "everything"))
PAGE_ROLES = (
    ("chat", "chat: write to agents"),
    ("viewer", "viewer: look, without texts"),
    ("approver", "approver: decide what waits"),
    ("operator", "operator: everything"),
)
DONE = {
    "in": "The chat was let in.",
    "refused": "The chat was refused, and what it wrote was deleted.",
    "role": "What the chat may do was changed.",
    "revoked": "The chat was revoked: nothing that it writes is answered.",
    "restored": "The chat is let in again, to talk.",
    "out": "The login was ended.",
}
REFUSED = "What it wrote is deleted, and it hears nothing. Refuse it?"
REVOKED = "Nothing that it writes is answered any more. Revoke it?"
EVERYTHING = (
    "Who may do everything can stop agents, let others in, and allow any call: let only people do"
    " so whom you trust with this machine."
)
WRONG_USER = "Use letters, digits, dots, - and _, beginning with a letter or digit."
SECOND = 1000  # milliseconds
INVITED_HOURS = web_sessions.INVITATION_MS // (3600 * SECOND)


@edit_calls.need_daemon
async def _show_people(request: ScreenRequest) -> ScreenResult:
    daemon = edit_calls.require_daemon(request)
    invited: PageAddress | None = None
    problems: Mapping[str, str] = {}
    if request.form.get("do") in CHAT_ACTS and not _asks_for_everything(request):
        return await _decide_about_chat(request)
    names = read_known_agents(await daemon.ask_daemon(protocol.STATUS, None, StatusReport))
    if request.form.get("do") == "invite":
        invited, problems = await _invite_guest(request, names)
    sessions: Sequence[PageSession] = ()
    people: Sequence[ListedPerson] = ()
    if request.has_right(Right.READ):
        sessions = (await daemon.ask_daemon(DASHBOARD_SESSIONS, None, PageSessions)).sessions
        people = (await edit_calls.ask_extension(request, PEOPLE_LIST, None, ListedPeople)).people
    else:
        people = await _list_waiting(request)
    return render_people(request, people, sessions, names, invited=invited, problems=problems)


def _asks_for_everything(request: ScreenRequest) -> bool:
    """Return whether a form lets a chat do everything, and was not asked about it yet."""
    return request.form.get("role") == "operate" and "sure" not in request.form


async def _decide_about_chat(request: ScreenRequest) -> ScreenResult:
    """Let a chat in or change its role, as a form says, and lead back to the list."""
    daemon, form = edit_calls.require_daemon(request), request.form
    role = form.get("role", "talk")
    if form["do"] == "role":
        chat = {"channel": form.get("channel"), "chat_id": form.get("chatId"), "role": role}
        try:
            changed = AdmittedChat.model_validate(chat)
        except ValueError as error:
            raise ApiProblem(HTTPStatus.BAD_REQUEST, "There is no such role or chat.") from error
        await daemon.ask_daemon(protocol.PAIR_ROLE, changed, protocol.Ack)
    else:
        wanted = ChatAdmission(
            code=form.get("code", ""), role=role, agent_id=form.get("agentId", "")
        )
        await daemon.ask_daemon(protocol.PAIR_APPROVE, wanted, AdmittedChat)
    return RedirectResponse(_build_way_back(form["do"]), HTTPStatus.SEE_OTHER)


def _build_way_back(done: str) -> str:
    return build_link("people", done=done)


async def _list_waiting(request: ScreenRequest) -> Sequence[ListedPerson]:
    """Return the chats that wait, for those who only decide about them."""
    daemon = edit_calls.require_daemon(request)
    found = await daemon.ask_daemon(protocol.PAIR_LIST, None, protocol.PairingList)
    return [
        ListedPerson(
            channel=one.channel,
            chat_id=one.chat_id,
            name=one.name,
            state="pending",
            code=one.code,
            at=one.created_at,
        )
        for one in found.pairings
        if one.state == "pending"
    ]


async def _invite_guest(
    request: ScreenRequest, known: KnownAgents
) -> tuple[PageAddress | None, Mapping[str, str]]:
    """Invite someone to the page; return the address, or what is wrong with fields of the form."""
    try:
        guest = PageGuest.model_validate(
            {
                "user": request.form.get("user", "").strip(),
                "role": request.form.get("role", "chat"),
                "agents": request.form.get("agents") or None,
            }
        )
    except ValueError:
        return None, {"user": WRONG_USER}
    for one in guest.agents or ():
        if not await has_agent(request, known, one):
            names = ", ".join(known.names) or "none yet"
            there = f"there are {names}" if known.whole else "see the agents for their names"
            return None, {"agents": f"No agent is called {one}; {there}."}
    daemon = edit_calls.require_daemon(request)
    return await daemon.ask_daemon(DASHBOARD_INVITE, guest, PageAddress), {}


def render_people(
    request: ScreenRequest,
    people: Sequence[ListedPerson],
    sessions: Sequence[PageSession],
    agents: KnownAgents,
    *,
    invited: PageAddress | None = None,
    problems: Mapping[str, str] = {},
) -> TitledContent:
    """Render all people; ``invited`` is the link of a new invitation, shown this once.

    ``problems`` are what is wrong with fields of the form that invites.
    """
    waiting = [one for one in people if one.state == "pending"]
    others = [one for one in people if one.state != "pending"]
    done = DONE.get(request.query.get("done", "")) if not request.form else None
    return TitledContent(
        "People",
        [
            render_note(done, kind="done") if done else None,
            _render_trust_question(request, people)
            if request.form.get("do") in CHAT_ACTS
            else None,
            _render_invitation(invited, request.form.get("user", "")) if invited else None,
            [_render_waiting(request, one, agents) for one in waiting],
            _render_chats(request, others) if request.has_right(Right.READ) else None,
            _render_logins(request, sessions, agents, problems)
            if request.has_right(Right.READ)
            else None,
            render_blank("No one waits to be let in.", icon="people")
            if not waiting and not request.has_right(Right.READ)
            else None,
        ],
        lead="Who may write to your agents, and who may use this page.",
        follows=invited is not None,
    )


def _render_trust_question(request: ScreenRequest, people: Sequence[ListedPerson]) -> h.Element:
    """Ask once more before a chat may do everything; the answer has the fields of the form."""
    names = ("do", "code", "agentId", "channel", "chatId", "role")
    fields = {name: request.form[name] for name in names if name in request.form}
    name = next((one.name for one in people if _is_chat_of_form(one, fields)), "")
    return render_panel(
        f"May {strip_terminal_codes(name) or 'this chat'} do everything?",
        h.p[EVERYTHING],
        h.form(method="post", action="/people", class_="row")[
            render_hidden_fields(request, {**fields, "sure": "yes"}),
            render_button("Yes, everything", "danger"),
            render_link_button("No", "/people"),
        ],
        urgent=True,
    )


def _is_chat_of_form(one: ListedPerson, fields: Mapping[str, str]) -> bool:
    if "code" in fields:
        return one.code == fields["code"]
    return (one.channel, one.chat_id) == (fields.get("channel"), fields.get("chatId"))


def _render_waiting(request: ScreenRequest, one: ListedPerson, agents: KnownAgents) -> h.Element:
    name = strip_terminal_codes(one.name) or show_hidden_characters(one.chat_id)
    code = one.code or ""
    changes = request.has_right(Right.CHANGE)
    roles = CHAT_ROLES if changes else CHAT_ROLES[:2]
    choice = render_agent_choice("agentId", agents, none="the usual agent", listed=f"agents-{code}")
    return render_panel(
        f"{name} asks to write",
        h.p[
            f"{show_hidden_characters(one.channel)}:{show_hidden_characters(one.chat_id)}",
            f", {figures.format_age(int(one.at * SECOND), request.now)}" if one.at else None,
            [", code ", h.code[code]],
        ],
        h.blockquote(class_="said")[strip_terminal_codes(one.first)] if one.first else None,
        h.form(method="post", action="/people", class_="filters")[
            render_hidden_fields(request, {"do": "in", "code": code}),
            h.label[h.span["May"], render_choice("role", roles, "talk")],
            h.label[h.span["Answered by"], choice] if changes else None,
            render_button("Let in", "do"),
        ],
        render_asking_button(
            request,
            PAIR_REFUSE,
            {"code": code, "back": _build_way_back("refused")},
            "Refuse",
            REFUSED,
        ),
        urgent=True,
    )


def _render_chats(request: ScreenRequest, people: Sequence[ListedPerson]) -> h.Element:
    return render_panel(
        "Chats",
        render_table(
            "Chats",
            ("Who", "Where", "Answered by", TableColumn("May", "grow"), "State", ACTIONS),
            ((*_render_chat_row(request, one),) for one in people),
            render_blank(
                "No chat of a messenger was let in yet.",
                render_link_button("Connect Telegram", "/setup"),
                icon="people",
            ),
        ),
    )


def _render_chat_row(request: ScreenRequest, one: ListedPerson) -> Sequence[h.Node]:
    chat = {"channel": one.channel, "chatId": one.chat_id}
    words = {"paired": "let in", "bound": "in agents.json", "refused": "refused"}
    signs = {"paired": "ok", "bound": "ok", "refused": "denied", "revoked": "denied"}
    changes = request.has_right(Right.CHANGE)
    return (
        strip_terminal_codes(one.name) or show_hidden_characters(one.chat_id),
        f"{show_hidden_characters(one.channel)}:{show_hidden_characters(one.chat_id)}",
        show_hidden_characters(one.agent_id or "the usual agent"),
        h.form(method="post", action="/people", class_="row")[
            render_hidden_fields(request, {"do": "role", **chat}),
            render_choice("role", CHAT_ROLES, one.role or "talk", "What they may do"),
            render_button("Change"),
        ]
        if changes and one.state == "paired"
        else dict(CHAT_ROLES).get(one.role or "talk", one.role)
        if one.state in words and one.state != "refused"
        else "nothing",
        figures.render_state(signs[one.state], words.get(one.state, one.state)),
        _render_chat_action(request, one, chat) if changes else None,
    )


def _render_chat_action(
    request: ScreenRequest, one: ListedPerson, chat: Mapping[str, str]
) -> h.Node:
    if one.state == "paired":
        fields = {**chat, "back": _build_way_back("revoked")}
        return render_asking_button(request, protocol.PAIR_REVOKE, fields, "Revoke", REVOKED)
    if one.state in {"refused", "revoked"}:
        fields = {**chat, "back": _build_way_back("restored")}
        return render_act_button(request, PAIR_RESTORE, fields, "Let in again", leaves=True)
    return None


def _render_logins(
    request: ScreenRequest,
    sessions: Sequence[PageSession],
    agents: KnownAgents,
    problems: Mapping[str, str],
) -> h.Element:
    changes = request.has_right(Right.CHANGE)
    return render_panel(
        "This page",
        render_table(
            "Logins",
            ("User", "Role", "Agents", TableColumn("Browser", "grow"), "Last seen", ACTIONS),
            (
                (
                    show_hidden_characters(one.user),
                    one.role,
                    "all" if one.agents is None else ", ".join(one.agents),
                    _render_browser(one, request.digest),
                    figures.format_age(int(one.last * SECOND), request.now),
                    render_act_button(
                        request,
                        DASHBOARD_REVOKE,
                        {"name": one.id, "back": _build_way_back("out")},
                        "Log out",
                        kind="danger",
                        leaves=True,
                    )
                    if changes
                    else None,
                )
                for one in sessions
            ),
            "No login.",
        ),
        _render_invite_form(request, agents, problems) if changes else None,
        id="page",
    )


def _render_browser(one: PageSession, digest: str) -> h.Node:
    """Render what a browser is called; what it says of itself is shown by a pointer."""
    own = bool(digest) and digest.startswith(one.id)
    return [
        h.span(title=shorten_text(one.label, 300))[name_browser(shorten_text(one.label, 300))],
        h.strong[" (this browser)"] if own else None,
    ]


def _render_invite_form(
    request: ScreenRequest, agents: KnownAgents, problems: Mapping[str, str]
) -> h.Element:
    typed: Mapping[str, str] = request.form if problems else {}
    return h.details(open=bool(problems) or None)[
        h.summary["Invite someone to this page"],
        h.form(method="post", action="/people", class_="form")[
            render_hidden_fields(request),
            render_field(
                "Name",
                h.input(
                    name="user",
                    value=typed.get("user", ""),
                    required=True,
                    maxlength="64",
                ),
                "Of the person, as it stands beside what they do.",
                problems.get("user", ""),
            ),
            render_field("May", render_choice("role", PAGE_ROLES, typed.get("role", "chat"))),
            render_field(
                "Agents",
                h.input(name="agents", list="agent-names", value=typed.get("agents", "")),
                "Names with commas between them; empty: all agents.",
                problems.get("agents", ""),
            ),
            render_suggestions(agents, "agent-names"),
            h.div(class_="row")[h.button(class_="do", name="do", value="invite")["Make a link"]],
        ],
    ]


def _render_invitation(invited: PageAddress, user: str) -> h.Element:
    host = urlsplit(invited.url).hostname or ""
    local = host.endswith("localhost")
    where = "only in a browser on this machine" if local else f"wherever {host} can be reached"
    return h.div(class_="note", data_kept=True)[
        h.strong[f"Send this link to {show_hidden_characters(user) or 'the person'}. "],
        f"It is shown this once, works once within {INVITED_HOURS} hours, and {where}.",
        h.div(class_="codeblock")[
            h.pre[invited.url],
            h.button(type="button", class_="plain", data_copy=".codeblock")[
                render_icon("copy"), "Copy"
            ],
        ],
        h.p(class_="soft")[strip_terminal_codes(invited.way)] if invited.way else None,
    ]


SCREENS = (PageScreen("/people", "People", Right.DECIDE, _show_people, "People", posts=True),)
