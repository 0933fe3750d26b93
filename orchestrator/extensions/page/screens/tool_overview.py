"""Tools: the servers, which agent may use which tool and why, and how calls went."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import htpy as h
import orjson

from orchestrator.control import protocol
from orchestrator.control.protocol import StatusReport, ToolServerReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import (
    ListedTool,
    ToolRule,
    ToolRuleTable,
)
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
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
    render_values,
)
from orchestrator.extensions.page.reads import call_figures
from orchestrator.extensions.page.reads.call_figures import CallFigures
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.settings_form import build_form_link
from orchestrator.journal.access import tool_pins
from orchestrator.journal.access.tool_pins import Pin

DAYS = 7
DAY = 86_400_000  # milliseconds
NO_TOOLS = ToolRuleTable(tools=(), rules=())
# What a jail keeps from a process, by its level.
JAILS = {
    "full": "only its own files, no keys, no other process",
    "no-landlock": "no keys; files as this machine allows",
    "keys-only": "no keys; files and network are open",
    "off": "not confined",
    "": "runs elsewhere, at an address",
}
EFFECTS = {
    "pure": "changes nothing",
    "local_tx": "changes only this program's journal",
    "keyed": "may be repeated: its server knows a repeated call",
    "verifiable": "changes something; whether it did can be checked",
    "non_idempotent": "changes something, each time it is called",
}


class ToolScene(NamedTuple):
    """What is known of tools: servers, tools with rules, approvals, and calls."""

    servers: Sequence[ToolServerReport] = ()
    table: ToolRuleTable = NO_TOOLS
    pins: Sequence[Pin] = ()
    calls: Sequence[CallFigures] = ()


async def _load_scene(request: ScreenRequest) -> ToolScene:
    pins = await request.journal(tool_pins.list_pins)
    calls = await request.journal(call_figures.list_call_figures, request.now - DAYS * DAY)
    if request.daemon is None:
        return ToolScene(pins=pins, calls=calls)
    report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
    table = NO_TOOLS
    if request.has_right(Right.READ):
        table = await request.daemon.ask_daemon(page_protocol.TOOL_RULES, None, ToolRuleTable)
    return ToolScene(report.tool_servers, table, pins, calls)


async def _show_tools(request: ScreenRequest) -> ScreenResult:
    return render_tools(request, await _load_scene(request))


async def _show_tool(request: ScreenRequest) -> ScreenResult:
    scene, name = await _load_scene(request), request.path["tool"]
    tool = next((one for one in scene.table.tools if one.name == name), None)
    if tool is None:
        return render_blank(
            f"No tool is called “{show_hidden_characters(name)}” now.",
            render_link_button("All tools", "/tools"),
            "tools",
        )
    return render_tool(request, scene, tool)


def render_tools(request: ScreenRequest, scene: ToolScene) -> TitledContent:
    """Render the screen."""
    waiting = sum(pin.needs_approval for pin in scene.pins)
    edits = request.has_right(Right.CHANGE) and request.daemon is not None
    content = [
        render_panel(
            "MCP servers",
            _render_servers(scene.servers, edits=edits),
            actions=render_link_button("Add a tool server", "/tools/servers/new", icon="add")
            if edits
            else None,
        ),
        _render_waiting(request, waiting),
        render_panel("Who may use what", _render_matrix(scene)) if scene.table.tools else None,
        render_panel(f"Calls of the last {DAYS} days", _render_calls(request, scene)),
        render_panel("Tools of servers, as they were approved", _render_pins(request, scene.pins))
        if scene.pins
        else None,
    ]
    lead = figures.format_plural(len(scene.table.tools), "tool") if scene.table.tools else None
    return TitledContent("Tools", content, lead=lead)


def render_tool(request: ScreenRequest, scene: ToolScene, tool: ListedTool) -> TitledContent:
    """Render one tool: what a model sees, and who may use it."""
    calls = next((one for one in scene.calls if one.tool == tool.name), None)
    rules = [rule for rule in scene.table.rules if rule.tool == tool.name]
    content = [
        render_panel(
            "What a model is told",
            h.pre[strip_terminal_codes(tool.description)],
            render_parameters(tool.parameters),
        ),
        render_panel("Who may use it", _render_rules(rules)),
        render_panel(
            f"Calls of the last {DAYS} days",
            h.p(class_="empty")["It was not called."]
            if calls is None
            else render_facts(
                {
                    "Calls": figures.format_count(calls.calls),
                    "Failed": _format_failures(calls),
                    "On average": "" if calls.ms is None else figures.format_span(calls.ms),
                    "Last": figures.format_age(calls.last, request.now),
                }
            ),
            actions=h.a(href=build_link("turns", tool=tool.name))["Its turns"],
        ),
    ]
    server = f"of the MCP server {show_hidden_characters(tool.server)}"
    lead = [server if tool.server else "built in", f" · {EFFECTS.get(tool.effect, tool.effect)}"]
    return TitledContent(
        show_hidden_characters(tool.name),
        content,
        lead=lead,
        actions=render_link_button("All tools", "/tools"),
    )


def render_parameters(schema: Mapping[str, object]) -> h.Node:
    """Render the parameters of a tool: each with its type, and what is said of it."""
    found, needed = schema.get("properties"), schema.get("required")
    if not isinstance(found, dict) or not found:
        return h.p(class_="soft")["It takes no arguments."]
    required = needed if isinstance(needed, list) else []
    return render_values(
        {
            show_hidden_characters(str(name)): _describe_parameter(about, name in required)
            for name, about in found.items()
        }
    )


def _describe_parameter(about: object, needed: bool) -> str:  # noqa: FBT001 - private
    known = about if isinstance(about, dict) else {}
    kind = known.get("type", "")
    words = ", ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    choices = known.get("enum")
    if isinstance(choices, list):
        words = f"one of {', '.join(map(str, choices))}"
    elif not words and known:
        words = orjson.dumps({key: known[key] for key in known if key != "description"}).decode()
    said = str(known.get("description", ""))
    parts = (words or "anything", "needed" if needed else "")
    told = ", ".join(filter(None, parts))
    return strip_terminal_codes(f"{told}. {said}" if said else told)


def describe_jail(level: str, reason: str = "") -> str:
    """Return what a jail keeps from a process."""
    words = JAILS.get(level, level)
    return f"{words} ({strip_terminal_codes(reason)})" if reason else words


def _render_servers(servers: Iterable[ToolServerReport], *, edits: bool) -> h.Node:
    return render_table(
        "MCP servers",
        (
            "Server",
            "State",
            TableColumn("Tools", "number"),
            "Its process may reach",
            TableColumn("Problem", "grow"),
        ),
        (
            (
                h.a(href=build_form_link("mcpServers", server.name))[
                    show_hidden_characters(server.name)
                ]
                if edits
                else h.b[show_hidden_characters(server.name)],
                figures.render_state(server.state),
                str(server.tools),
                # A server that is not connected has no process.
                describe_jail(server.sandbox, server.sandbox_reason)
                if server.state == "connected"
                else "",
                strip_terminal_codes("; ".join(filter(None, (server.error, *server.notes)))),
            )
            for server in servers
        ),
        "No server is set up; the built-in tools are there.",
    )


def _render_waiting(request: ScreenRequest, waiting: int) -> h.Node:
    if not waiting or not request.has_right(Right.DECIDE):
        return None
    words = "1 tool waits" if waiting == 1 else f"{waiting} tools wait"
    return render_note(
        f"{words} for a decision: its server changed or added it. ",
        h.a(href="/inbox")["Look and decide ▸"],
        kind="warn",
    )


def _render_matrix(scene: ToolScene) -> h.Node:
    agents = list(dict.fromkeys(rule.agent_id for rule in scene.table.rules))
    rules = {(rule.tool, rule.agent_id): rule for rule in scene.table.rules}
    heads: list[TableColumn | str] = [
        TableColumn("Tool", "id"),
        TableColumn("What it does", "grow"),
        *map(show_hidden_characters, agents),
    ]
    return [
        h.p(class_="soft")[
            "● may be used · ◐ a person is asked each time · ○ not allowed."
            " Pointing at a sign tells the rule; a tool's own screen has all of them."
        ],
        render_table(
            "Tools by agent",
            heads,
            (
                (
                    h.a(href=build_link("tools", tool.name), data_row=True)[
                        show_hidden_characters(tool.name)
                    ],
                    h.span(class_="line")[shorten_text(tool.description, 160)],
                    *(_render_sign(rules.get((tool.name, agent))) for agent in agents),
                )
                for tool in scene.table.tools
            ),
        ),
    ]


def _render_sign(rule: ToolRule | None) -> h.Node:
    if rule is None:
        return None
    sign, kind, words = _choose_sign(rule)
    title = f"{words}: {strip_terminal_codes(rule.reason)}"
    return h.span(class_=kind, title=title, role="img", aria_label=title)[sign]


def _choose_sign(rule: ToolRule) -> tuple[str, str, str]:
    if not rule.allowed:
        return "○", "quiet no", "not allowed"  # not shown on a phone
    return ("◐", "wait", "a person is asked") if rule.asks else ("●", "good", "may be used")


def _render_rules(rules: Sequence[ToolRule]) -> h.Node:
    return render_table(
        "Rules",
        (TableColumn("Agent", "id"), "May use it", TableColumn("Because", "grow")),
        (
            (
                show_hidden_characters(rule.agent_id),
                h.span(class_=f"state {_choose_sign(rule)[1]}")[" ".join(_choose_sign(rule)[::2])],
                strip_terminal_codes(rule.reason),
            )
            for rule in rules
        ),
        "No agent can have it.",
    )


def _render_calls(request: ScreenRequest, scene: ToolScene) -> h.Node:
    known = {tool.name for tool in scene.table.tools}
    return render_table(
        "Calls",
        (
            TableColumn("Tool", "grow"),
            TableColumn("Calls", "number"),
            TableColumn("Failed", "number"),
            TableColumn("On average", "number"),
            TableColumn("Last", "time"),
            ACTIONS,
        ),
        (
            (
                h.a(href=build_link("tools", one.tool))[show_hidden_characters(one.tool)]
                if one.tool in known
                else show_hidden_characters(one.tool),
                figures.format_count(one.calls),
                _format_failures(one),
                "" if one.ms is None else figures.format_span(one.ms),
                figures.format_age(one.last, request.now),
                h.a(href=build_link("turns", tool=one.tool), data_row=True)["Its turns"],
            )
            for one in scene.calls
        ),
        "No tool calls.",
    )


def _format_failures(calls: CallFigures) -> h.Node:
    if not calls.failed:
        return "0"
    share = 100 * calls.failed // calls.calls
    return h.span(class_="bad")[f"{calls.failed} ({share} %)"]


def _render_pins(request: ScreenRequest, pins: Sequence[Pin]) -> h.Node:
    return render_table(
        "Approved tools",
        (TableColumn("Tool", "grow"), "State", "Approved by", TableColumn("When", "time"), ACTIONS),
        (
            (
                show_hidden_characters(pin.name),
                figures.render_state("unknown", "changed: not offered")
                if pin.changed
                else figures.render_state("approved"),
                show_hidden_characters(pin.by),
                figures.render_recent_moment(pin.at, request.zone, request.now),
                h.a(href="/inbox")["Look and decide"]
                if pin.needs_approval and request.has_right(Right.DECIDE)
                else None,
            )
            for pin in pins
        ),
    )


SCREENS = (
    PageScreen("/tools", "Tools", Right.LOOK, _show_tools, "Tools"),
    PageScreen("/tools/{tool}", "A tool", Right.READ, _show_tool, "Tools"),
)
