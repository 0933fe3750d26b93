"""``orchestrator approvals``: tool calls that wait for approval."""

import time
from functools import partial
from typing import Annotated

import typer

from orchestrator.cli._client import order
from orchestrator.cli._direct_journal import ask_or_read
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import minute
from orchestrator.cli._tables import listing
from orchestrator.control import listings, protocol

Code = Annotated[
    str, typer.Argument(metavar="CODE", help="The code that the chat and the list show.")
]
app = command_group("approvals")


@app.command("list")
def list_approvals(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the calls that wait for approval."""
    found = ask_or_read(
        load_settings(home),
        protocol.APPROVAL_LIST,
        protocol.ApprovalList,
        partial(listings.questions, now=time.time_ns() // 1_000_000),
    )
    listing(
        found,
        "Approvals",
        ("code", "agent", "chat", "tool", "until (UTC)", "arguments", "why"),
        (
            (i.code, i.agent_id, i.chat, i.tool, minute(i.expires), i.arguments, i.reason)
            for i in found.approvals
        ),
        empty="no call waits for approval",
        as_json=as_json,
    )


@app.command()
def grant(code: Code, *, home: Home = None) -> None:
    """Let the call run once with exactly the arguments shown."""
    decision = protocol.ApprovalDecision(code=code, granted=True)
    order(load_settings(home), protocol.APPROVAL_DECIDE, decision)
    typer.echo("granted")


@app.command()
def deny(code: Code, *, home: Home = None) -> None:
    """Refuse the call; the model gets an error as its result."""
    decision = protocol.ApprovalDecision(code=code, granted=False)
    order(load_settings(home), protocol.APPROVAL_DECIDE, decision)
    typer.echo("denied")
