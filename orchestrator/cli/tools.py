"""``orchestrator tools``: tools of MCP servers, and whether they changed since their approval."""

from typing import Annotated

import typer

from orchestrator.cli._client import order
from orchestrator.cli._direct_journal import ask_or_read
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import minute
from orchestrator.cli._tables import listing
from orchestrator.control import listings, protocol

app = command_group("tools")


@app.command("list")
def list_tools(*, as_json: AsJson = False, home: Home = None) -> None:
    """List every known tool, and whether it changed since its approval."""
    found = ask_or_read(load_settings(home), protocol.TOOL_LIST, protocol.PinList, listings.pins)
    listing(
        found,
        "Tools of MCP servers",
        ("tool", "state", "approved by", "at (UTC)"),
        map(_row, found.tools),
        empty="no MCP server has listed a tool yet",
        as_json=as_json,
    )


def _row(pin: protocol.PinReport) -> tuple[object, ...]:
    state = "CHANGED, not offered" if pin.changed else "as approved"
    return pin.name, state, pin.by, minute(pin.at)


@app.command()
def approve(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="SERVER/TOOL, or SERVER for all of its tools.")
    ],
    *,
    home: Home = None,
) -> None:
    """Let agents use a changed tool in its present version."""
    order(load_settings(home), protocol.TOOL_APPROVE, protocol.ToolName(name=name))
    typer.echo("approved")
