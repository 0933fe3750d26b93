"""The first screen: what runs, what waits for a person, recent turns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.protocol import (
    AgentReport,
    BudgetUse,
    RecentTurn,
    StatusReport,
    name_model,
)
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures, svg
from orchestrator.extensions.page.html.forms import build_link, render_act_button
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_panel
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.reads import activity, stamps, waiting
from orchestrator.extensions.page.reads.activity import RecentSpending, TurnInProgress
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest
from orchestrator.journal.db.database import Database
from thinker.protocol.names import format_chat_name

HOUR, DAY = 3_600_000, 86_400_000  # milliseconds
PERIODS = {"Hour": "an hour", "Day": "today", "Month": "this month"}
CHANNELS_OF_MACHINE = {"console", "api", "http", "web", "mcp"}


class RecentActivity(NamedTuple):
    """Recent data of the journal; ``hour`` counts messages in two-minute steps."""

    hour: list[int]
    spent: Mapping[str, RecentSpending]
    waits: int
    doing: Sequence[TurnInProgress] = ()


def _load_recent_activity(db: Database, now: int) -> RecentActivity:
    return RecentActivity(
        activity.count_arrivals(db, now - HOUR, now, 30),
        activity.sum_agent_spending(db, now - DAY),
        waiting.count_waiting_items(db, now),
        activity.list_open_turns(db),
    )


async def _show_now(request: ScreenRequest) -> h.Node:
    lately = await request.journal(_load_recent_activity, request.now)
    if request.daemon is None:
        return h.p(class_="empty")["A journal without a daemon: nothing runs here."]
    report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
    return render_now(request, report, lately)


def render_now(request: ScreenRequest, report: StatusReport, lately: RecentActivity) -> h.Node:
    """Render the screen."""
    return [
        h.p(class_="lead")[
            figures.render_state(
                "running" if report.ready else "failed", "ready" if report.ready else "not ready"
            ),
            f" · {report.version} · {report.open_turns} in hand",
            f" · journal {figures.format_size(report.journal_bytes)}",
            f" · all times {request.zone.key}",
        ],
        _render_attention_panel(request, report, lately.waits),
        _render_first_steps(report),
        render_panel("Agents", _render_agents(request, report, lately)),
        h.div(class_="grid")[
            render_panel(
                "Messages, last hour",
                svg.render_sparkline(lately.hour, f"{sum(lately.hour)} messages in the last hour"),
                h.p[
                    f"{sum(lately.hour)} came · ",
                    ", ".join(f"{count} {state}" for state, count in report.inbox.items())
                    or "none ever",
                ],
            ),
            render_panel("Channels", h.ul(class_="calls")[_render_channels(request, report)]),
            render_panel("Tool servers", h.ul(class_="calls")[_render_tool_servers(report)]),
        ],
        render_panel("Last turns", render_recent_turns(report.recent_turns)),
    ]


def render_recent_turns(recent: Sequence[RecentTurn]) -> h.Node:
    """Render the newest turns."""
    heads = ("Agent", "Chat", "State", "Tools", TableColumn("Time", "number"), "")
    rows = (
        (
            turn.agent_id,
            shorten_text(turn.chat, 40),
            figures.render_turn_outcome(turn.state, turn.stop_reason),
            show_hidden_characters(", ".join(turn.tools)),
            "" if turn.ms is None else figures.format_span(turn.ms),
            h.a(href=build_link("turns", turn.turn_id))["look"],
        )
        for turn in recent
    )
    return render_table("Last turns", heads, rows, "No messages yet.")


def _render_attention_panel(request: ScreenRequest, report: StatusReport, waits: int) -> h.Node:
    lines: list[h.Node] = []
    if waits and request.has_right(Right.DECIDE):
        words = "1 thing waits" if waits == 1 else f"{waits} things wait"
        lines.append(h.p[h.a(href="/inbox")[f"{words} for you"]])
    lines += [h.p(class_="problem")[str(problem)] for problem in report.config_errors]
    lines += [h.p[strip_terminal_codes(hint)] for hint in report.hints]
    return h.section(class_="panel urgent")[h.h2["Look at this"], lines] if lines else None


def _render_first_steps(report: StatusReport) -> h.Node:
    """Render the first steps, until a model is set up."""
    own = [agent for agent in report.agents if not agent.parent]
    demo = all(agent.provider == "demo" for agent in own)
    telegram = any(channel.name == "telegram" for channel in report.channels)
    if not demo:
        return None
    talked = bool(report.recent_turns)
    steps = (
        (
            talked,
            "Talk to the agent",
            "No key is needed for the demo agent.",
            h.a(href="/chats")["Open a chat"],
        ),
        (
            not demo,
            "Plug in a model",
            "Without one the agent follows rules and says so.",
            h.span[
                "Run ",
                h.code["orchestrator setup"],
                ", or see ",
                h.a(href="/manual/tutorial")["the tutorial"],
            ],
        ),
        (
            telegram,
            "Connect Telegram",
            "Ask @BotFather for a bot and its token.",
            h.span[
                "Run ",
                h.code["orchestrator setup"],
                ", or see ",
                h.a(href="/manual/groups")["who may write"],
            ],
        ),
    )
    return h.div(class_="grid")[
        (
            h.section(class_="panel")[
                h.h2[
                    figures.render_state(
                        "done" if done else "idle", "done: " if done else "next: "
                    ),
                    title,
                ],
                h.p[text],
                h.p[way],
            ]
            for done, title, text, way in steps
        )
    ]


def _render_agents(request: ScreenRequest, report: StatusReport, lately: RecentActivity) -> h.Node:
    heads = (
        "Agent",
        "Model",
        "State",
        "Doing",
        TableColumn("Tokens, 24 h", "number"),
        TableColumn("Cost, 24 h", "number"),
        "Budget",
        ACTIONS,
    )
    rows = (_render_agent_row(request, agent, lately) for agent in report.agents)
    return render_table("Agents", heads, rows, "No agents yet.")


def _render_agent_row(
    request: ScreenRequest, agent: AgentReport, lately: RecentActivity
) -> Sequence[h.Node]:
    used = lately.spent.get(agent.agent_id, RecentSpending(0, 0.0, 0))
    doing = [turn for turn in lately.doing if turn.agent_id == agent.agent_id]
    state = "paused" if agent.paused else "idle" if agent.state == "stopped" else agent.state
    if state == "running" and all(turn.state != "running" for turn in doing):
        state = "waiting" if doing else "idle"
    reason = agent.paused or agent.reason
    order = (
        protocol.AGENT_RESUME
        if agent.paused or agent.state in ("fatal", "quarantined")
        else protocol.AGENT_PAUSE
    )
    label = "Resume" if order == protocol.AGENT_RESUME else "Pause"
    return (
        [h.span(class_="soft")["└ "] if agent.parent else None, h.b[agent.agent_id]],
        name_model(agent.provider, agent.model),
        [
            figures.render_state(state),
            h.div(class_="soft")[reason] if reason else None,
            (h.div(class_="soft")[strip_terminal_codes(text)] for text in agent.lacking),
            h.div(class_="soft")[f"started again {agent.restarts} times"]
            if agent.restarts
            else None,
        ],
        [_render_turn_in_progress(request, turn) for turn in doing],
        figures.format_tokens(used.tokens),
        [figures.format_usd(used.usd), " + unknown" if used.unpriced else None],
        [render_budget(use) for use in agent.budgets],
        render_act_button(request, order, {"agentId": agent.agent_id}, label)
        if request.has_right(Right.CHANGE) and not agent.parent
        else None,
    )


def _render_turn_in_progress(request: ScreenRequest, turn: TurnInProgress) -> h.Node:
    what = f"calls {show_hidden_characters(turn.call)}" if turn.call else "asks the model"
    if turn.state != "running":
        what = f"waits: {turn.state}"
    return h.div[
        h.a(href=build_link("turns", turn.turn_id))[
            shorten_text(format_chat_name(turn.chat_key), 30)
        ],
        f" {what} {figures.format_span(max(0, request.now - turn.since), rough=True)}",
    ]


def render_budget(use: BudgetUse) -> h.Node:
    """Render how much of a limit is used."""
    limit = figures.format_usd(use.usd_limit)
    if use.usd_limit is None:
        limit = f"{figures.format_tokens(use.token_limit or 0)} tokens"
    words = f"{100 * use.share:.0f} % of {limit} {PERIODS.get(use.window, use.window)}"
    return h.div[svg.render_share_bar(use.share, words), " ", h.small[words]]


def _render_channels(request: ScreenRequest, report: StatusReport) -> Iterator[h.Node]:
    for channel in report.channels:
        heard = None
        if channel.last_ok is not None and channel.name not in CHANNELS_OF_MACHINE:
            heard = f" heard {figures.format_age(int(channel.last_ok * 1000), request.now)}"
        off = channel.detail.startswith("off")
        state = figures.render_state("off" if off else channel.state)
        yield h.li[channel.name, " ", state, heard, f" {channel.detail.removeprefix('off; ')}"]


def _render_tool_servers(report: StatusReport) -> Iterator[h.Node]:
    for server in report.tool_servers:
        detail = server.error or f"{server.tools} tools"
        yield h.li[server.name, " ", figures.render_state(server.state), f" {detail}"]
    if not report.tool_servers:
        yield h.li(class_="empty")["None is set up; the built-in tools are there."]


SCREENS = (PageScreen("/", "Now", Right.LOOK, _show_now, "Now", stamp=stamps.read_open_turns),)
