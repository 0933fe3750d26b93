"""The agents: all of them, and what belongs to one."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus

import htpy as h
from pydantic import JsonValue
from starlette.responses import RedirectResponse

from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport, StatusRequest, name_model
from orchestrator.control.editing import EditableFiles
from orchestrator.control.protocol import StatusReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import AGENTS_FILE
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.edit_report import render_saved_note, was_just_saved
from orchestrator.extensions.page.html.forms import build_link, render_filters
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_facts,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.reads import activity
from orchestrator.extensions.page.reads.activity import TurnInProgress
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.agent_table import (
    choose_state,
    render_budget,
    render_more_money,
    render_order,
)
from orchestrator.extensions.page.screens.remedies import explain_reason, shorten_reason
from orchestrator.extensions.page.screens.settings_form import build_form_link
from orchestrator.extensions.page.screens.text_editor import build_text_link
from orchestrator.journal.access import pairing
from orchestrator.journal.access.pairing import Pairing
from orchestrator.journal.schedule import tasks
from orchestrator.journal.schedule.tasks import Task

# Whose facts an agent knows, by the mode of its memory.
MEMORY = {
    "agent": "one for all chats: what is said in one can be told in another",
    "person": "one for each chat: no other chat learns of it",
}


@edit_calls.need_daemon
async def _show_agents(request: ScreenRequest) -> ScreenResult:
    words = request.query.get("agent", "").strip()
    asked = StatusRequest(agents=f"*{words}*") if words else None
    report = await edit_calls.ask_extension(request, protocol.STATUS, asked, StatusReport)
    return render_agents(request, report, await request.journal(activity.list_open_turns))


@edit_calls.need_daemon
async def _show_agent(request: ScreenRequest) -> ScreenResult:
    name = request.path["agent"]
    asked = StatusRequest(agents=name, most=1)
    report = await edit_calls.ask_extension(request, protocol.STATUS, asked, StatusReport)
    agent = next((one for one in report.agents if one.agent_id == name), None)
    doing = await request.journal(activity.list_open_turns)
    if not request.has_right(Right.READ):
        return render_agent(request, agent, name, doing=doing) if agent else _render_unknown(name)
    file = await edit_calls.read_text(request, AGENTS_FILE)
    value = agents_schema.parse_agents_text(file.text)
    texts = await edit_calls.list_texts(request)
    every = await request.journal(tasks.list_tasks)
    own = [task for task in every if task.agent_id == name]
    saved = was_just_saved(request)
    if agent is None and agents_schema.find_agent_place(value, name) is None:
        done = "undone" if "undone" in request.query else "saved"
        gone = RedirectResponse(f"/settings?{done}=1", HTTPStatus.SEE_OTHER)
        return gone if saved else _render_unknown(name)
    content = render_agent(
        request, agent, name, value, texts, own, doing, await request.journal(pairing.list_pairings)
    )
    if saved:
        changes = (await edit_calls.load_history(request, AGENTS_FILE)).versions
        if changes:
            note = render_saved_note(request, changes[0], build_link("agents", name))
            return content._replace(content=[note, content.content])
    return content


def render_agents(
    request: ScreenRequest, report: StatusReport, doing: Sequence[TurnInProgress] = ()
) -> TitledContent:
    """Render the agents, with a search if there are more than the report has."""
    searched = bool(request.query.get("agent"))
    edits = request.has_right(Right.CHANGE)
    add = render_link_button("Add an agent", build_form_link("agents", new=1), "do", "add")
    return TitledContent(
        "Agents",
        render_panel(
            "Agents" if searched or report.agents_left_out else "All agents",
            render_filters(request, [("agent", "Part of a name")])
            if searched or report.agents_left_out
            else None,
            render_link_button("All agents", "/agents") if searched else None,
            render_table(
                "Agents",
                (
                    TableColumn("Agent", "id"),
                    TableColumn("Model", "id"),
                    TableColumn("State", "grow"),
                    "Budget",
                    ACTIONS,
                ),
                ((*_render_agent_row(request, one, doing),) for one in report.agents),
                render_blank("No agent has such a name.", icon="agents")
                if searched
                else render_blank(
                    "No agent works here yet.", add if edits else None, icon="agents"
                ),
            ),
            h.p[f"and {report.agents_left_out:,} more"] if report.agents_left_out else None,
        ),
        actions=add if edits else None,
    )


def render_agent(
    request: ScreenRequest,
    agent: AgentReport | None,
    name: str,
    value: JsonValue = None,
    texts: EditableFiles | None = None,
    scheduled: Sequence[Task] = (),
    doing: Sequence[TurnInProgress] = (),
    pairings: Sequence[Pairing] = (),
) -> TitledContent:
    """Render one agent; without a ``value``, only what its state is. None does not run yet."""
    place, edits = agents_schema.find_agent_place(value, name), request.has_right(Right.CHANGE)
    own = agents_schema.find_value(value, ("agents", place)) if place is not None else None
    return TitledContent(
        show_hidden_characters(name),
        [
            _render_state(agent, doing),
            None if own is None else render_panel("What it is", _render_settings(own)),
            None
            if own is None
            else render_panel(
                "Where it answers",
                _render_bindings(value, name, pairings, edits=edits),
                actions=render_link_button(
                    "Add a chat",
                    build_form_link("bindings", new=1, **{"field.agentId": name}),
                    icon="add",
                )
                if edits
                else None,
            ),
            render_panel("Texts", _render_texts(name, own, texts)) if texts else None,
            render_panel("Tasks", _render_tasks(scheduled)) if texts else None,
        ],
        lead=strip_terminal_codes(str(agents_schema.find_value(own, ("description",)) or "")),
        actions=[
            [
                render_link_button("Edit", build_form_link("agents", place), "do", "edit"),
                render_link_button("Memory", build_link("memory", agent=name), icon="memory"),
                render_order(request, agent) if agent else None,
            ]
            if place is not None and edits
            else None,
            render_link_button("Its turns", build_link("turns", agent=name), icon="turns"),
        ],
    )


def _render_agent_row(
    request: ScreenRequest, agent: AgentReport, doing: Sequence[TurnInProgress]
) -> Sequence[h.Node]:
    return (
        [
            h.span(class_="soft")["└ "] if agent.parent else None,
            h.a(href=build_link("agents", agent.agent_id), data_row=True)[
                h.b[show_hidden_characters(agent.agent_id)]
            ],
        ],
        show_hidden_characters(name_model(agent.provider, agent.model)),
        [
            figures.render_state(choose_state(agent, doing)),
            h.div(class_="soft")[shorten_reason(agent.paused or agent.reason, agent.agent_id)],
        ],
        [render_budget(use) for use in agent.budgets] or h.span(class_="soft")["no limit"],
        [render_more_money(request, agent), render_order(request, agent)],
    )


def _render_state(agent: AgentReport | None, doing: Sequence[TurnInProgress]) -> h.Node:
    if agent is None:
        return render_note("It does not take messages: it is switched off, or was just added.")
    return [
        render_note(explain_reason(agent.paused or agent.reason), kind="warn")
        if agent.paused or agent.reason
        else None,
        render_facts(
            {
                "state": figures.render_state(choose_state(agent, doing)),
                "model": show_hidden_characters(name_model(agent.provider, agent.model)),
                "reads at once": agent.window or None,
                "memory": MEMORY.get(agent.memory),
                "budget": [render_budget(use) for use in agent.budgets] or "no limit",
            }
        ),
    ]


def _render_settings(own: JsonValue) -> h.Node:
    allowed = agents_schema.find_value(own, ("allowedTools",))
    asked = agents_schema.find_value(own, ("approvals",))
    instructions = agents_schema.find_value(own, ("systemPrompt",))
    return [
        render_facts(
            {
                "tools": _join(allowed) or "all that are there",
                "tools that ask first": _join(asked) or "none",
                "a folder with commands": _say_whether(own, "workspace"),
                "the web": _say_whether(own, "web"),
            }
        ),
        h.pre[strip_terminal_codes(str(instructions))] if instructions else None,
    ]


def _render_bindings(
    value: JsonValue, name: str, pairings: Sequence[Pairing], *, edits: bool
) -> h.Node:
    bindings = agents_schema.find_value(value, ("bindings",))
    found = [
        (number, one)
        for number, one in enumerate(bindings if isinstance(bindings, list) else [])
        if agents_schema.find_value(one, ("agentId",)) == name
    ]
    known = {f"{one.channel}:{one.chat_id}": shorten_text(one.name, 40) for one in pairings}
    fallback = agents_schema.find_value(value, ("fallbackAgentId",)) == name
    if not found and not fallback:
        return h.p(class_="empty")["No chat leads to it; only senders that name it reach it."]
    return h.ul(class_="chips")[
        (
            h.li[
                h.a(
                    href=build_form_link("bindings", number, agent=name) if edits else None,
                    class_="chip",
                    title=show_hidden_characters(_name_chat(one)),
                )[known.get(_name_chat(one)) or show_hidden_characters(_name_chat(one))]
            ]
            for number, one in found
        ),
        h.li[h.span(class_="chip")["all chats without a binding"]] if fallback else None,
    ]


def _render_texts(name: str, own: JsonValue, texts: EditableFiles) -> h.Node:
    found = [*_iter_text_names(name, own, texts)]
    if not found:
        return h.p(class_="empty")["No texts of its own."]
    return h.ul(class_="chips")[
        (
            h.li[h.a(href=build_text_link(text), class_="chip")[show_hidden_characters(text)]]
            for text in found
        )
    ]


def _iter_text_names(name: str, own: JsonValue, texts: EditableFiles) -> Iterator[str]:
    """Yield the texts that shape an agent: its prompt, its own texts, and the skills of all."""
    prompt = agents_schema.find_value(own, ("prompt",))
    for file in texts.files:
        stem = file.name.removeprefix("prompts/").partition(".")[0]
        is_prompt = file.name.startswith("prompts/") and prompt == stem
        if is_prompt or file.name.startswith((f"personas/{name}/", "skills/")):
            yield file.name


def _render_tasks(scheduled: Sequence[Task]) -> h.Node:
    if not scheduled:
        return h.p(class_="empty")["No task runs by itself."]
    return h.ul(class_="chips")[
        (
            h.li[
                h.a(href=build_link("tasks", str(task.id)), class_="chip")[
                    show_hidden_characters(task.name)
                ]
            ]
            for task in scheduled
        )
    ]


def _name_chat(binding: JsonValue) -> str:
    channel, chat = (agents_schema.find_value(binding, (key,)) for key in ("channel", "chatId"))
    return f"all chats of {channel}" if chat == "*" else f"{channel}:{chat}"


def _render_unknown(name: str) -> h.Node:
    return render_blank(
        f"No agent is called {show_hidden_characters(name)}.",
        render_link_button("All agents", "/agents"),
        icon="agents",
    )


def _join(value: JsonValue) -> str:
    words = [show_hidden_characters(str(one)) for one in value] if isinstance(value, list) else []
    return ", ".join(words)


def _say_whether(own: JsonValue, key: str) -> str:
    return "yes" if agents_schema.find_value(own, (key,)) else "no"


SCREENS = (
    PageScreen("/agents", "Agents", Right.LOOK, _show_agents, "Agents", from_journal=False),
    PageScreen(
        "/agents/{agent}", "An agent", Right.LOOK, _show_agent, "Agents", from_journal=False
    ),
)
