"""``orchestrator approvals``: tool calls that wait for approval."""

import time
from functools import partial
from typing import Annotated

import typer

from orchestrator.cli.client import send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import ask_or_read
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_minute
from orchestrator.cli.tables import Columns, print_listing
from orchestrator.control import listings, protocol

Code = Annotated[
    str, typer.Argument(metavar="CODE", help="The code that the chat and the list show.")
]


def _format_arguments(call: protocol.AskedCallReport) -> str:
    """Return the arguments of a call, and where they are from: ``{"to":"bob"} (to: …)``."""
    marks = ", ".join(f"{one.argument}: {one.source}" for one in call.sources)
    return f"{call.arguments} ({marks})" if marks else call.arguments


COLUMNS: Columns = {
    "code": "code",
    "agent": "agent_id",
    "chat": "chat",
    "tool": lambda call: "; ".join(one.tool for one in call.calls),
    "until (UTC)": lambda call: format_minute(call.expires),
    "arguments": lambda call: "; ".join(_format_arguments(one) for one in call.calls),
    "why": lambda call: "; ".join(dict.fromkeys(one.reason for one in call.calls)),
}
app = make_command_group("approvals")


@app.command("list")
def list_approvals(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the calls that wait for approval."""
    found = ask_or_read(
        load_settings(home),
        protocol.APPROVAL_LIST,
        protocol.ApprovalList,
        partial(listings.list_approvals, now=time.time_ns() // 1_000_000),
    )
    print_listing(
        "Approvals",
        found.approvals,
        COLUMNS,
        key="approvals",
        empty="no calls wait for approval",
        as_json=as_json,
    )


@app.command()
def grant(code: Code, *, home: Home = None) -> None:
    """Let the calls of a question run once with exactly the arguments shown."""
    decision = protocol.ApprovalDecision(code=code, granted=True)
    send_order(load_settings(home), protocol.APPROVAL_DECIDE, decision)
    typer.echo("granted")


@app.command()
def deny(code: Code, *, home: Home = None) -> None:
    """Refuse the calls of a question; the model gets an error for each."""
    decision = protocol.ApprovalDecision(code=code, granted=False)
    send_order(load_settings(home), protocol.APPROVAL_DECIDE, decision)
    typer.echo("denied")
