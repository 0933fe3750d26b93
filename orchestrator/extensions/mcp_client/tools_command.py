"""``orchestrator tools``: tools of MCP servers, and whether they changed since their approval."""

from typing import Annotated

import typer

from orchestrator.cli.client import send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import ask_or_read
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_minute
from orchestrator.cli.tables import Columns, print_listing
from orchestrator.control import listings, protocol

COLUMNS: Columns = {
    "tool": "name",
    "state": lambda pin: "CHANGED, not offered" if pin.changed else "as approved",
    "approved by": "by",
    "at (UTC)": lambda pin: format_minute(pin.at),
}
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


@app.command()
def approve(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="SERVER/TOOL, or SERVER for all of its tools.")
    ],
    *,
    home: Home = None,
) -> None:
    """Let agents use a changed tool in its current version."""
    send_order(load_settings(home), protocol.TOOL_APPROVE, protocol.ToolName(name=name))
    typer.echo("approved")
