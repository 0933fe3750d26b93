"""``orchestrator tools``: tools of MCP servers, and whether they changed since their approval."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon, send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import ask_or_read
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_minute, make_printable
from orchestrator.cli.tables import Columns, print_listing
from orchestrator.control import listings, protocol
from orchestrator.extensions.mcp_client.tool_changes import (
    TOOL_PINS,
    ToolChange,
    ToolChanges,
    format_change,
    load_changes,
)

COLUMNS: Columns = {
    "tool": "name",
    "state": lambda pin: "CHANGED, not offered" if pin.changed else "as approved",
    "approved by": "by",
    "at (UTC)": lambda pin: format_minute(pin.at),
}
NOTHING = "nothing"  # no digest: what has changed since the look is not approved unseen
MAX_LINES = 200  # of one tool's change
app = make_command_group("tools")


@app.command("list")
def list_tools(*, as_json: AsJson = False, home: Home = None) -> None:
    """List every known tool, and whether it changed since its approval."""
    found = ask_or_read(
        load_settings(home), protocol.TOOL_LIST, protocol.PinList, listings.list_pins
    )
    print_listing(
        "Tools of MCP servers",
        found.tools,
        COLUMNS,
        key="tools",
        empty="no MCP server has listed any tools yet",
        as_json=as_json,
    )
    if not as_json:
        changes = ask_or_read(load_settings(home), TOOL_PINS, ToolChanges, load_changes)
        for change in changes.tools:
            _print_change(change)


@app.command()
def approve(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="SERVER/TOOL, or SERVER for all of its tools.")
    ],
    *,
    home: Home = None,
) -> None:
    """Let agents use a changed tool in its current version, which is shown.

    A tool that changes again meanwhile is not approved.
    """
    settings = load_settings(home)
    found = ask_daemon(settings, TOOL_PINS, None, ToolChanges).tools
    changes = [one for one in found if name in (one.name, one.name.partition("/")[0])]
    for change in changes:
        _print_change(change)
    orders = [protocol.ToolName(name=one.name, seen=one.seen) for one in changes]
    for order in orders or [protocol.ToolName(name=name, seen=NOTHING)]:
        send_order(settings, protocol.TOOL_APPROVE, order)
    typer.echo("approved")


def _print_change(change: ToolChange) -> None:
    lines = list(format_change(change))
    for line in lines[:MAX_LINES]:
        typer.echo(make_printable(line))
    if len(lines) > MAX_LINES:
        typer.echo(f"  [{len(lines) - MAX_LINES} more lines; see: orchestrator dashboard]")
