"""``orchestrator approvals``: tool calls that wait for approval."""

from typing import Annotated

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import minute, printable
from orchestrator.cli._tables import listing
from orchestrator.control.protocol import (
    APPROVAL_DECIDE,
    APPROVAL_LIST,
    Ack,
    ApprovalDecision,
    ApprovalList,
    ApprovalReport,
)

Code = Annotated[
    str, typer.Argument(metavar="CODE", help="The code that the chat and the list show.")
]
app = command_group()


@app.callback()
def _group() -> None:
    """Grant or deny tool calls that wait for approval."""


@app.command("list")
def list_approvals(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the calls that wait for approval."""
    found = ask(load_settings(home), APPROVAL_LIST, None, ApprovalList)
    listing(
        found,
        "Approvals",
        ("code", "agent", "chat", "tool", "arguments", "why", "until (UTC)"),
        map(_row, found.approvals),
        empty="no call waits for approval",
        as_json=as_json,
    )


def _row(item: ApprovalReport) -> tuple[object, ...]:
    return (
        item.code,
        item.agent_id,
        item.chat,
        item.tool,
        printable(item.arguments),
        item.reason,
        minute(item.expires),
    )


@app.command()
def grant(code: Code, *, home: Home = None) -> None:
    """Let the call run once with exactly the arguments shown."""
    ask(load_settings(home), APPROVAL_DECIDE, ApprovalDecision(code=code, granted=True), Ack)
    typer.echo("granted")


@app.command()
def deny(code: Code, *, home: Home = None) -> None:
    """Refuse the call; the model gets an error as its result."""
    ask(load_settings(home), APPROVAL_DECIDE, ApprovalDecision(code=code, granted=False), Ack)
    typer.echo("denied")
