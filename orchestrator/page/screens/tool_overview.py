"""Tools: the servers, what they list, what was approved, and how calls went."""

from collections.abc import Sequence

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.page_access import Right
from orchestrator.control.protocol import StatusReport, ToolServerReport
from orchestrator.journal.access import tool_pins
from orchestrator.journal.access.tool_pins import Pin
from orchestrator.journal.inspect import call_figures
from orchestrator.journal.inspect.call_figures import CallFigures
from orchestrator.page.html import figures
from orchestrator.page.html.forms import act, link
from orchestrator.page.html.outside_text import plain, visible
from orchestrator.page.html.tables import panel, table
from orchestrator.page.visit import Screen, Shown, Visit

DAYS = 7
DAY = 86_400_000  # milliseconds


async def _body(visit: Visit) -> Shown:
    pins = await visit.journal(tool_pins.every)
    calls = await visit.journal(call_figures.find, visit.now - DAYS * DAY)
    servers: Sequence[ToolServerReport] = ()
    if visit.daemon is not None:
        servers = (await visit.daemon.ask(protocol.STATUS, None, StatusReport)).tool_servers
    return draw(visit, servers, pins, calls)


def draw(
    visit: Visit,
    servers: Sequence[ToolServerReport],
    pins: Sequence[Pin],
    calls: Sequence[CallFigures],
) -> h.Node:
    """Draw the screen."""
    return [
        panel(
            "MCP servers",
            table(
                "MCP servers",
                ("Server", "State", "#Tools", "Jail", "Problem"),
                (
                    (
                        visible(server.name),
                        figures.state(server.state),
                        str(server.tools),
                        f"{server.sandbox} {server.sandbox_reason}".strip() or "at an address",
                        plain(server.error),
                    )
                    for server in servers
                ),
                "No server is set up. The built-in tools are there; see the manual.",
            ),
        ),
        panel(
            f"Calls of the last {DAYS} days",
            table(
                "Calls",
                ("Tool", "#Calls", "#Failed", "#On average", "Last"),
                (
                    (
                        h.a(href=link("turns", tool=one.tool), data_row=True)[visible(one.tool)],
                        figures.count(one.calls),
                        [
                            str(one.failed),
                            f" ({100 * one.failed // one.calls} %)" if one.failed else None,
                        ],
                        "" if one.ms is None else figures.span(one.ms),
                        figures.ago(one.last, visit.now),
                    )
                    for one in calls
                ),
                "No tool was called.",
            ),
        ),
        panel(
            "Tools of servers, as they were approved",
            table(
                "Pins",
                ("Tool", "State", "Approved by", "When", ""),
                ((*_pin(visit, pin),) for pin in pins),
                "No server has listed a tool yet.",
            ),
        ),
        h.p(class_="soft")["In a terminal: ", h.code["orchestrator tools list"]],
    ]


def _pin(visit: Visit, pin: Pin) -> Sequence[h.Node]:
    return (
        visible(pin.name),
        figures.state("unknown", "changed: not offered") if pin.changed else figures.state("ok"),
        visible(pin.by),
        figures.moment(pin.at, visit.zone),
        act(visit, protocol.TOOL_APPROVE, {"name": pin.name}, "Approve")
        if pin.open and visit.may(Right.DECIDE)
        else None,
    )


SCREENS = (Screen("/tools", "Tools", Right.LOOK, _body, "Tools"),)
