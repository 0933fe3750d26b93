"""The agents: what each does, what it used, and how its process is."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport, BudgetUse, name_model
from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side.page_protocol import ProcessFigures
from orchestrator.extensions.page.html import figures, svg
from orchestrator.extensions.page.html.forms import (
    ButtonKind,
    build_link,
    render_act_button,
    render_button,
)
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import render_choice, render_link_button
from orchestrator.extensions.page.reads.activity import RecentSpending, TurnInProgress
from orchestrator.extensions.page.reads.turn_people import NO_PEOPLE, TurnPeople
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.extensions.page.screens.remedies import shorten_reason
from orchestrator.extensions.page.screens.turn_table import name_chat, render_cost
from orchestrator.extensions.page.setup_answers import BUDGET_EXTEND
from thinker.protocol.names import format_chat_name

PERIODS = {"Hour": "this hour", "Day": "today", "Month": "this month"}
MANY = 8  # agents from which they can be filtered
MORE_USD = "0.10"  # dollars by which a button raises an agent's limits until midnight
NOTHING = RecentSpending(0, 0.0, 0)


class AgentRow(NamedTuple):
    """An agent with what it did lately; ``state`` is what people call it."""

    report: AgentReport
    state: str
    used: RecentSpending
    doing: Sequence[TurnInProgress]
    process: ProcessFigures | None


# What the table can be sorted by, beside the order of agents.json.
ORDERS: Mapping[str, Callable[[AgentRow], float]] = {
    "tokens": lambda row: row.used.tokens,
    "cost": lambda row: row.used.usd,
}


def build_agent_rows(
    agents: Sequence[AgentReport],
    spent: Mapping[str, RecentSpending],
    doing: Sequence[TurnInProgress],
    processes: Sequence[ProcessFigures],
) -> list[AgentRow]:
    """Join what is known of each agent."""
    measured = {one.pid: one for one in processes}
    rows = []
    for agent in agents:
        own = [turn for turn in doing if turn.agent_id == agent.agent_id]
        process = None if agent.pid is None else measured.get(agent.pid)
        used = spent.get(agent.agent_id, NOTHING)
        rows.append(AgentRow(agent, choose_state(agent, own), used, own, process))
    return rows


def render_agents(
    request: ScreenRequest, rows: Sequence[AgentRow], people: TurnPeople = NO_PEOPLE
) -> h.Node:
    """Render the agents, with filters if there are many."""
    by = request.query.get("by", "")
    shown = [row for row in rows if _matches(request, row)]
    if by in ORDERS:
        shown.sort(key=ORDERS[by], reverse=True)
    return [
        _render_filters(request, rows, len(shown)) if len(rows) > MANY else None,
        render_table(
            "Agents",
            (
                TableColumn("Agent", "id"),
                TableColumn("Model", "id"),
                "State",
                TableColumn("Doing", "grow"),
                _sorted_column(request, "Tokens, 24 h", "tokens"),
                _sorted_column(request, "Cost, 24 h", "cost"),
                "Budget",
                ACTIONS,
            ),
            (_render_row(request, row, people) for row in shown),
            "No agent is like this." if rows else "No agents yet.",
        ),
    ]


def render_budget(use: BudgetUse) -> h.Node:
    """Render how much of a limit is used, on a line that never breaks."""
    if use.usd_limit is None:
        used, limit = figures.format_tokens(use.tokens), figures.format_tokens(use.token_limit or 0)
        limit = f"{limit} tokens"
    else:
        used, limit = map(figures.format_round_usd, (use.usd, use.usd_limit))
    words = f"{used} of {limit} {PERIODS.get(use.window, use.window)}"
    return h.div(class_="budget")[svg.render_share_bar(use.share, words, width=48), h.span[words]]


def _render_row(request: ScreenRequest, row: AgentRow, people: TurnPeople) -> Sequence[h.Node]:
    agent = row.report
    name = show_hidden_characters(agent.agent_id)
    return (
        [
            h.span(class_="soft")["└ "] if agent.parent else None,
            h.a(href=build_link("agents", agent.parent or agent.agent_id), class_="by")[h.b[name]],
        ],
        show_hidden_characters(name_model(agent.provider, agent.model)),
        [figures.render_state(row.state), _render_process(row.process)],
        [_render_doing(request, row.doing, people), _render_remarks(agent)],
        [
            h.span(class_="row")[
                svg.render_sparkline(
                    row.used.hours, f"Tokens of {name} by hour", width=48, height=16
                )
                if any(row.used.hours)
                else None,
                figures.format_tokens(row.used.tokens),
            ]
        ],
        [figures.format_usd(row.used.usd), _render_unpriced(request, row.used)],
        [render_budget(use) for use in agent.budgets],
        render_order(request, agent),
    )


def _render_remarks(agent: AgentReport) -> h.Node:
    """Say why an agent does not answer; pointing at "with less" tells what its turns lacked."""
    reason = shorten_reason(agent.paused or agent.reason, agent.agent_id)
    lacks = "; ".join(map(strip_terminal_codes, agent.lacking))
    return [
        h.span(class_="soft clip", title=reason)[reason] if reason else None,
        h.small(class_="warn", title=lacks)[" ▲ with less "] if lacks else None,
        h.small[_describe_restarts(agent.restarts)] if agent.restarts else None,
    ]


def _render_unpriced(request: ScreenRequest, used: RecentSpending) -> h.Node:
    if not used.unpriced:
        return None
    calls = figures.format_plural(used.unpriced, "call")
    return h.small(title=f"{calls} without a known price")[" + ", render_cost(request, None)]


def _render_doing(
    request: ScreenRequest, doing: Sequence[TurnInProgress], people: TurnPeople
) -> h.Node:
    if not doing:
        return None
    newest, *others = (_render_turn(request, turn, people) for turn in doing)
    if not others:
        return newest
    return h.details[
        h.summary[f"{len(doing)} in hand · ", newest], h.ul(class_="calls")[map(_list_item, others)]
    ]


def _list_item(content: h.Node) -> h.Element:
    return h.li[content]


def _render_turn(request: ScreenRequest, turn: TurnInProgress, people: TurnPeople) -> h.Node:
    what = f"calls {show_hidden_characters(turn.call)}" if turn.call else "asks the model"
    if turn.state != "running":
        what = f"waits: {turn.state}"
    return h.span[
        h.a(href=build_link("turns", turn.turn_id), title=format_chat_name(turn.chat_key))[
            name_chat(request, turn.chat_key, people)
        ],
        f" {what} · {figures.format_span(max(0, request.now - turn.since), rough=True)}",
    ]


def _render_process(process: ProcessFigures | None) -> h.Node:
    if process is None:
        return None
    cpu = 100 * process.cpu_seconds / max(1.0, process.age_seconds)
    age = figures.format_span(1000 * process.age_seconds, rough=True)
    words = f"runs for {age}; {cpu:.1f} % of a processor on average"
    return h.div(class_="soft", title=words)[figures.format_size(process.memory_bytes)]


def render_more_money(request: ScreenRequest, agent: AgentReport) -> h.Node:
    """Render the button that raises an agent's limits in dollars; nothing if it has no such."""
    limited = any(use.usd_limit is not None for use in agent.budgets)
    if not limited or agent.parent or not request.has_right(Right.CHANGE):
        return None
    return render_extension(request, agent.agent_id)


def render_extension(request: ScreenRequest, agent_id: str, kind: ButtonKind = "quiet") -> h.Node:
    """Render the button that raises the limits in dollars of an agent that has some."""
    fields = {"agentId": agent_id, "usd": MORE_USD}
    return render_act_button(request, BUDGET_EXTEND, fields, f"+ ${MORE_USD} today", kind=kind)


def render_order(request: ScreenRequest, agent: AgentReport) -> h.Node:
    """Render the button that pauses an agent, or lets one go on that does not run."""
    if agent.parent or not request.has_right(Right.CHANGE):
        return None
    stands = agent.paused or agent.state in ("fatal", "quarantined")
    method = protocol.AGENT_RESUME if stands else protocol.AGENT_PAUSE
    label = "Resume" if stands else "Pause"
    return render_act_button(request, method, {"agentId": agent.agent_id}, label)


def choose_state(agent: AgentReport, doing: Sequence[TurnInProgress]) -> str:
    """Return what people call an agent's state; ``doing`` are the open turns of all agents."""
    states = [turn.state for turn in doing if turn.agent_id == agent.agent_id]
    if agent.paused:
        return "paused"
    if agent.state == "stopped":
        return "idle"
    if agent.state == "running" and "running" not in states:
        return "waiting" if states else "idle"
    return agent.state


def _describe_restarts(restarts: int) -> str:
    return "restarted once" if restarts == 1 else f"restarted {restarts} times"


def _matches(request: ScreenRequest, row: AgentRow) -> bool:
    text, state = request.query.get("agent", "").lower(), request.query.get("state", "")
    named = f"{row.report.agent_id} {name_model(row.report.provider, row.report.model)}".lower()
    return text in named and state in ("", row.state)


def _render_filters(request: ScreenRequest, rows: Sequence[AgentRow], shown: int) -> h.Element:
    states = sorted({row.state for row in rows})
    listed = [("", "any"), *((state, figures.WORDS.get(state, state)) for state in states)]
    filtered = shown < len(rows)
    return h.form(method="get", class_="filters", role="search")[
        h.label[
            h.span["Agent or model"], h.input(name="agent", value=request.query.get("agent", ""))
        ],
        h.label[h.span["State"], render_choice("state", listed, request.query.get("state", ""))],
        render_button("Show"),
        render_link_button("Show all", "/") if filtered else None,
        h.span(class_="soft")[f"{shown} of {figures.format_plural(len(rows), 'agent')}"],
    ]


def _sorted_column(request: ScreenRequest, name: str, by: str) -> TableColumn:
    chosen = request.query.get("by") == by
    query = {key: request.query.get(key) for key in ("agent", "state")}
    href = build_link("", **query, by=None if chosen else by)
    return TableColumn(name, "number", href, "descending" if chosen else "")
