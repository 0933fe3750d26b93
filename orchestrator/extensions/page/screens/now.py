"""The first screen: what runs, what waits for a person, recent turns."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.protocol import StatusReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import (
    ProcessFigures,
    ProcessNumbers,
    ProcessTable,
)
from orchestrator.extensions.page.html import figures, svg
from orchestrator.extensions.page.html.outside_text import strip_terminal_codes
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.reads import activity, stamps, waiting
from orchestrator.extensions.page.reads.activity import RecentSpending, TurnInProgress
from orchestrator.extensions.page.reads.turn_filters import compute_day_start
from orchestrator.extensions.page.reads.turn_people import (
    NO_PEOPLE,
    TurnPeople,
    find_senders,
    load_turn_people,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.agent_table import build_agent_rows, render_agents
from orchestrator.extensions.page.screens.remedies import is_demo, list_troubles, render_troubles
from orchestrator.extensions.page.screens.turn_table import render_turn_list
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import turn_search
from orchestrator.journal.inspect.turn_search import FoundTurn

HOUR, DAY = 3_600_000, 86_400_000  # milliseconds
CHANNELS_OF_MACHINE = {"console", "api", "http", "web", "mcp"}
MAX_TURNS = 8  # newest turns
NO_DAEMON = "A journal without a daemon: nothing runs here."


class RecentActivity(NamedTuple):
    """Recent data of the journal; ``hour`` counts messages in two-minute steps."""

    hour: list[int]
    spent: Mapping[str, RecentSpending]
    waits: int
    doing: Sequence[TurnInProgress] = ()
    today: Mapping[str, int] = {}  # messages by state
    turns: Sequence[FoundTurn] = ()
    people: TurnPeople = NO_PEOPLE


def _load_recent_activity(db: Database, now: int, midnight: int) -> RecentActivity:
    newest = [
        str(turn)
        for (turn,) in db.execute("SELECT id FROM turn ORDER BY id DESC LIMIT ?", (MAX_TURNS,))
    ]
    turns, doing = turn_search.list_turns_by_id(db, newest), activity.list_open_turns(db)
    people = load_turn_people(db, turns)
    senders = find_senders(db, (turn.chat_key for turn in doing))
    return RecentActivity(
        activity.count_arrivals(db, now - HOUR, now, 30),
        activity.sum_agent_spending(db, now - DAY),
        waiting.count_waiting_items(db, now),
        doing,
        activity.count_messages_since(db, midnight),
        turns,
        people._replace(senders={**people.senders, **senders}),
    )


async def _show_now(request: ScreenRequest) -> ScreenResult:
    today = datetime.fromtimestamp(request.now / 1000, request.zone).date()
    midnight = compute_day_start(today, request.zone)
    lately = await request.journal(_load_recent_activity, request.now, midnight)
    if request.daemon is None:
        return render_blank(NO_DAEMON, render_link_button("See its turns", "/turns"), "now")
    report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
    pids = tuple(agent.pid for agent in report.agents if agent.pid is not None)
    asked = ProcessNumbers(pids=pids)
    found = await request.daemon.ask_daemon(page_protocol.PROCESS_LIST, asked, ProcessTable)
    return render_now(request, report, lately, found.processes)


def render_now(
    request: ScreenRequest,
    report: StatusReport,
    lately: RecentActivity,
    processes: Sequence[ProcessFigures] = (),
) -> TitledContent:
    """Render the screen."""
    rows = build_agent_rows(report.agents, lately.spent, lately.doing, processes)
    content = [
        _render_attention_panel(request, report, lately.waits),
        _render_first_steps(request, report),
        render_panel(
            "Agents",
            render_agents(request, rows, lately.people),
            h.a(href="/agents")[f"and {report.agents_left_out:,} more"]
            if report.agents_left_out
            else None,
        ),
        h.div(class_="grid")[
            _render_messages(report, lately),
            render_panel("Channels", _render_channels(request, report)),
            render_panel("Tool servers", _render_tool_servers(report)),
        ],
        render_panel(
            "Last turns",
            render_turn_list(request, lately.turns, lately.people)
            or render_blank(
                "No messages yet.",
                h.a(href="/chats/new", class_="button do")["Write the first one"],
                "chats",
            ),
            actions=h.a(href="/turns")["All turns"] if lately.turns else None,
        ),
    ]
    return TitledContent("Now", content, lead=_render_lead(request, report))


def _render_lead(request: ScreenRequest, report: StatusReport) -> h.Node:
    return [
        figures.render_state(*(("running", "ready") if report.ready else ("failed", "not ready"))),
        f" · {figures.format_plural(report.open_turns, 'turn')} in hand",
        f" · version {report.version} · all times {request.zone.key}",
    ]


def _render_attention_panel(request: ScreenRequest, report: StatusReport, waits: int) -> h.Node:
    waiting_line = None
    if waits and request.has_right(Right.DECIDE):
        words = "1 thing waits" if waits == 1 else f"{waits} things wait"
        waiting_line = render_note(
            h.b[f"{words} for you"], " ", h.a(href="/inbox")["Open the inbox ▸"]
        )
    return render_troubles([*list_troubles(request, report)], waiting_line)


def _render_first_steps(request: ScreenRequest, report: StatusReport) -> h.Node:
    """Render the first steps, until a model is set up."""
    if not is_demo(report):
        return None
    telegram = any(channel.name == "telegram" for channel in report.channels)
    may = request.has_right(Right.CHANGE)
    steps = (  # in the order of the screen that sets up
        (
            False,
            "Choose a model",
            "One on this machine, or one of a provider with a key. It is tried at once.",
            render_link_button("Choose a model", "/setup", "do") if may else None,
        ),
        (
            telegram,
            "Connect Telegram",
            "Ask @BotFather for a bot, and enter its token.",
            render_link_button("Connect Telegram", "/setup#telegram") if may else None,
        ),
        (
            bool(report.recent_turns),
            "Talk to the agent",
            "The demo agent needs no key. It follows rules, and says so.",
            render_link_button("Open a chat", "/chats/new"),
        ),
    )
    return h.div(class_="grid steps")[
        (
            h.section(class_="panel")[
                h.h2[h.b(class_="step")["✓" if done else str(number)], f" {title}"],
                h.p(class_="soft")[text],
                h.p[figures.render_state("done")] if done else way,
            ]
            for number, (done, title, text, way) in enumerate(steps, 1)
        )
    ]


def _render_messages(report: StatusReport, lately: RecentActivity) -> h.Element:
    came = figures.format_plural(sum(lately.hour), "message")
    return render_panel(
        "Messages",
        svg.render_sparkline(lately.hour, f"{came} in the last hour, by two minutes"),
        h.p(class_="soft")[f"{came} in the last hour"],
        h.p[describe_messages(report.inbox, lately.today)],
        h.p[h.a(href="/inbox", class_="bad")[_describe_dead(report.inbox["dead"])]]
        if report.inbox.get("dead")
        else None,
    )


def describe_messages(inbox: Mapping[str, int], today: Mapping[str, int]) -> str:
    """Say how many messages wait, are being answered, and were answered today."""
    waits, taken = inbox.get("new", 0), inbox.get("claimed", 0)
    told = [
        f"{waits} {'waits' if waits == 1 else 'wait'}" if waits else "",
        f"{taken} being answered" if taken else "",
        f"{today.get('done', 0)} answered today",
        f"{today['cancelled']} stopped or refused today" if today.get("cancelled") else "",
    ]
    return ", ".join(filter(None, told))


def _describe_dead(number: int) -> str:
    return "1 message was given up" if number == 1 else f"{number} messages were given up"


def _render_channels(request: ScreenRequest, report: StatusReport) -> h.Node:
    return render_table(
        "Channels",
        (TableColumn("Channel", "id"), "State", TableColumn("Detail", "grow")),
        [*_list_channels(request, report)],
    )


def _list_channels(request: ScreenRequest, report: StatusReport) -> Iterator[Sequence[h.Node]]:
    for channel in report.channels:
        heard = ""
        if channel.last_ok is not None and channel.name not in CHANNELS_OF_MACHINE:
            heard = f"heard {figures.format_age(int(channel.last_ok * 1000), request.now)} "
        off = channel.detail.startswith("off")
        state = figures.render_state("off" if off else channel.state)
        detail = strip_terminal_codes(channel.detail.removeprefix("off; "))
        about = f"{heard}{detail}"
        yield channel.name, state, h.span(class_="soft")[about] if about else None


def _render_tool_servers(report: StatusReport) -> h.Node:
    rows = (
        (
            server.name,
            figures.render_state(server.state),
            h.span(class_="soft clip")[
                strip_terminal_codes(server.error) or figures.format_plural(server.tools, "tool")
            ],
        )
        for server in report.tool_servers
    )
    columns = (TableColumn("Server", "id"), "State", TableColumn("Detail", "grow"))
    return render_table("Tool servers", columns, rows, "Only the built-in tools are set up.")


SCREENS = (PageScreen("/", "Now", Right.LOOK, _show_now, "Now", stamp=stamps.read_open_turns),)
