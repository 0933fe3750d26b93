"""Tools: the servers, their tools, approvals and outcomes of calls."""

from collections.abc import Sequence

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.protocol import StatusReport, ToolServerReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link, render_act_button
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_panel
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.reads import call_figures
from orchestrator.extensions.page.reads.call_figures import CallFigures
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.journal.access import tool_pins
from orchestrator.journal.access.tool_pins import Pin

DAYS = 7
DAY = 86_400_000  # milliseconds


async def _show_tools(request: ScreenRequest) -> ScreenResult:
    pins = await request.journal(tool_pins.list_pins)
    calls = await request.journal(call_figures.list_call_figures, request.now - DAYS * DAY)
    servers: Sequence[ToolServerReport] = ()
    if request.daemon is not None:
        servers = (
            await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
        ).tool_servers
    return render_tools(request, servers, pins, calls)


def render_tools(
    request: ScreenRequest,
    servers: Sequence[ToolServerReport],
    pins: Sequence[Pin],
    calls: Sequence[CallFigures],
) -> h.Node:
    """Render the screen."""
    return [
        render_panel(
            "MCP servers",
            render_table(
                "MCP servers",
                ("Server", "State", TableColumn("Tools", "number"), "Jail", "Problem"),
                (
                    (
                        show_hidden_characters(server.name),
                        figures.render_state(server.state),
                        str(server.tools),
                        f"{server.sandbox} {server.sandbox_reason}".strip() or "at an address",
                        strip_terminal_codes(server.error),
                    )
                    for server in servers
                ),
                "No server is set up. The built-in tools are there; see the manual.",
            ),
        ),
        render_panel(
            f"Calls of the last {DAYS} days",
            render_table(
                "Calls",
                (
                    "Tool",
                    TableColumn("Calls", "number"),
                    TableColumn("Failed", "number"),
                    TableColumn("On average", "number"),
                    "Last",
                ),
                (
                    (
                        h.a(href=build_link("turns", tool=one.tool), data_row=True)[
                            show_hidden_characters(one.tool)
                        ],
                        figures.format_count(one.calls),
                        [
                            str(one.failed),
                            f" ({100 * one.failed // one.calls} %)" if one.failed else None,
                        ],
                        "" if one.ms is None else figures.format_span(one.ms),
                        figures.format_age(one.last, request.now),
                    )
                    for one in calls
                ),
                "No tool calls.",
            ),
        ),
        render_panel(
            "Tools of servers, as they were approved",
            render_table(
                "Pins",
                ("Tool", "State", "Approved by", TableColumn("When", "time"), ""),
                ((*_render_pin_row(request, pin),) for pin in pins),
                "No server has listed any tools yet.",
            ),
        ),
        h.p(class_="soft")["In a terminal: ", h.code["orchestrator tools list"]],
    ]


def _render_pin_row(request: ScreenRequest, pin: Pin) -> Sequence[h.Node]:
    return (
        show_hidden_characters(pin.name),
        figures.render_state("unknown", "changed: not offered")
        if pin.changed
        else figures.render_state("ok"),
        show_hidden_characters(pin.by),
        figures.render_moment(pin.at, request.zone),
        render_act_button(request, protocol.TOOL_APPROVE, {"name": pin.name}, "Approve")
        if pin.needs_approval and request.has_right(Right.DECIDE)
        else None,
    )


SCREENS = (PageScreen("/tools", "Tools", Right.LOOK, _show_tools, "Tools"),)
