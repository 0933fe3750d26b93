"""``orchestrator tools``: tools of MCP servers, and whether they are what they were."""

from typing import Annotated

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import AsJson, Home, command_group, settings
from orchestrator.cli._output import minute, printable
from orchestrator.cli._tables import listing
from orchestrator.control.protocol import (
    TOOL_APPROVE,
    TOOL_LIST,
    Ack,
    PinList,
    PinReport,
    ToolName,
)

app = command_group()


@app.callback()
def _group() -> None:
    """List the tools of MCP servers, approve one that has changed."""


@app.command("list")
def list_tools(*, as_json: AsJson = False, home: Home = None) -> None:
    """List every tool that was seen, and which of them have changed since."""
    found = ask(settings(home), TOOL_LIST, None, PinList)
    listing(
        found,
        "Tools of MCP servers",
        ("tool", "state", "approved by", "at (UTC)"),
        map(_row, found.tools),
        empty="no MCP server has listed a tool yet",
        as_json=as_json,
    )


def _row(pin: PinReport) -> tuple[object, ...]:
    state = "CHANGED, not offered" if pin.changed else "as approved"
    return printable(pin.name), state, pin.by, minute(pin.at)


@app.command()
def approve(
    name: Annotated[str, typer.Argument(help="SERVER/TOOL, or SERVER for all of its tools.")],
    *,
    home: Home = None,
) -> None:
    """Let agents use a tool that has changed, as it is now."""
    ask(settings(home), TOOL_APPROVE, ToolName(name=name), Ack)
    typer.echo("approved")
