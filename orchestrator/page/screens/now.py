"""The first screen: what runs, what waits for a person, what happened lately."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.page_access import Right
from orchestrator.control.protocol import AgentReport, BudgetUse, RecentTurn, StatusReport
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import activity, waiting
from orchestrator.journal.inspect.activity import SpentLately, TurnInHand
from orchestrator.page.html import figures, svg
from orchestrator.page.html.forms import act, link
from orchestrator.page.html.outside_text import short, visible
from orchestrator.page.html.tables import panel, table
from orchestrator.page.visit import Screen, Visit
from thinker.protocol.names import chat_name

HOUR, DAY = 3_600_000, 86_400_000  # milliseconds
PERIODS = {"Hour": "an hour", "Day": "today", "Month": "this month"}
CHANNELS_OF_MACHINE = {"console", "api", "http", "web", "mcp"}


class Lately(NamedTuple):
    """What the journal says; ``hour`` are the messages of each two minutes of the last hour."""

    hour: list[int]
    spent: Mapping[str, SpentLately]
    waits: int
    doing: Sequence[TurnInHand] = ()


def _lately(db: Database, now: int) -> Lately:
    return Lately(
        activity.messages(db, now - HOUR, now, 30),
        activity.spent(db, now - DAY),
        waiting.count(db, now),
        activity.doing(db),
    )


async def _body(visit: Visit) -> h.Node:
    lately = await visit.journal(_lately, visit.now)
    if visit.daemon is None:
        return h.p(class_="empty")["A journal without a daemon: nothing runs here."]
    report = await visit.daemon.ask(protocol.STATUS, None, StatusReport)
    return draw(visit, report, lately)


def draw(visit: Visit, report: StatusReport, lately: Lately) -> h.Node:
    """Draw the screen."""
    return [
        h.p(class_="lead")[
            figures.state(
                "running" if report.ready else "failed", "ready" if report.ready else "not ready"
            ),
            f" · {report.version} · {report.open_turns} in hand",
            f" · journal {figures.size(report.journal_bytes)}",
            f" · all times {visit.zone.key}",
        ],
        _waits(visit, report, lately.waits),
        _first_steps(report),
        panel("Agents", _agents(visit, report, lately)),
        h.div(class_="grid")[
            panel(
                "Messages, last hour",
                svg.sparkline(lately.hour, f"{sum(lately.hour)} messages in the last hour"),
                h.p[
                    f"{sum(lately.hour)} came · ",
                    ", ".join(f"{count} {state}" for state, count in report.inbox.items())
                    or "none ever",
                ],
            ),
            panel("Channels", h.ul(class_="calls")[_channels(visit, report)]),
            panel("Tool servers", h.ul(class_="calls")[_servers(report)]),
        ],
        panel("Last turns", turns(report.recent_turns)),
    ]


def turns(recent: Sequence[RecentTurn]) -> h.Node:
    """Draw the newest turns."""
    heads = ("Agent", "Chat", "State", "Tools", "#Time", "")
    rows = (
        (
            turn.agent_id,
            short(turn.chat, 40),
            figures.outcome(turn.state, turn.stop_reason),
            visible(", ".join(turn.tools)),
            "" if turn.ms is None else figures.span(turn.ms),
            h.a(href=link("turns", turn.turn_id))["look"],
        )
        for turn in recent
    )
    return table("Last turns", heads, rows, "No message yet.")


def _waits(visit: Visit, report: StatusReport, waits: int) -> h.Node:
    lines: list[h.Node] = []
    if waits and visit.may(Right.DECIDE):
        words = "1 thing waits" if waits == 1 else f"{waits} things wait"
        lines.append(h.p[h.a(href="/inbox")[f"{words} for you"]])
    lines += [h.p(class_="problem")[str(problem)] for problem in report.config_errors]
    lines += [h.p[hint] for hint in report.hints]
    return h.section(class_="panel urgent")[h.h2["Look at this"], lines] if lines else None


def _first_steps(report: StatusReport) -> h.Node:
    """Draw what to do next, until a model is there."""
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
                    figures.state("done" if done else "idle", "done: " if done else "next: "), title
                ],
                h.p[text],
                h.p[way],
            ]
            for done, title, text, way in steps
        )
    ]


def _agents(visit: Visit, report: StatusReport, lately: Lately) -> h.Node:
    heads = ("Agent", "Model", "State", "Doing", "#Tokens, 24 h", "#Cost, 24 h", "Budget", "")
    rows = (_agent(visit, agent, lately) for agent in report.agents)
    return table("Agents", heads, rows, "No agent yet.")


def _agent(visit: Visit, agent: AgentReport, lately: Lately) -> Sequence[h.Node]:
    used = lately.spent.get(agent.agent_id, SpentLately(0, 0.0, 0))
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
        f"{agent.provider} {agent.model}".strip(),
        [
            figures.state(state),
            h.div(class_="soft")[reason] if reason else None,
            h.div(class_="soft")[f"started again {agent.restarts} times"]
            if agent.restarts
            else None,
        ],
        [_doing(visit, turn) for turn in doing],
        figures.tokens(used.tokens),
        [figures.usd(used.usd), " + unknown" if used.unpriced else None],
        [budget(use) for use in agent.budgets],
        act(visit, order, {"agentId": agent.agent_id}, label)
        if visit.may(Right.CHANGE) and not agent.parent
        else None,
    )


def _doing(visit: Visit, turn: TurnInHand) -> h.Node:
    what = f"calls {visible(turn.call)}" if turn.call else "asks the model"
    if turn.state != "running":
        what = f"waits: {turn.state}"
    return h.div[
        h.a(href=link("turns", turn.turn_id))[short(chat_name(turn.chat_key), 30)],
        f" {what} {figures.span(max(0, visit.now - turn.since), rough=True)}",
    ]


def budget(use: BudgetUse) -> h.Node:
    """Draw how much of a limit is used."""
    limit = figures.usd(use.usd_limit)
    if use.usd_limit is None:
        limit = f"{figures.tokens(use.token_limit or 0)} tokens"
    words = f"{100 * use.share:.0f} % of {limit} {PERIODS.get(use.window, use.window)}"
    return h.div[svg.share(use.share, words), " ", h.small[words]]


def _channels(visit: Visit, report: StatusReport) -> Iterator[h.Node]:
    for channel in report.channels:
        heard = None
        if channel.last_ok is not None and channel.name not in CHANNELS_OF_MACHINE:
            heard = f" heard {figures.ago(int(channel.last_ok * 1000), visit.now)}"
        off = channel.detail.startswith("off")
        state = figures.state("off" if off else channel.state)
        yield h.li[channel.name, " ", state, heard, f" {channel.detail.removeprefix('off; ')}"]


def _servers(report: StatusReport) -> Iterator[h.Node]:
    for server in report.tool_servers:
        detail = server.error or f"{server.tools} tools"
        yield h.li[server.name, " ", figures.state(server.state), f" {detail}"]
    if not report.tool_servers:
        yield h.li(class_="empty")["None is set up; the built-in tools are there."]


SCREENS = (Screen("/", "Now", Right.LOOK, _body, "Now"),)
