"""``orchestrator rewind``: go on from an earlier answer in the same chat."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import make_printable
from orchestrator.cli.tables import print_json
from orchestrator.extensions.branches.branches_part import REWIND, BranchReport, BranchRequest

app = make_command_group()


@app.command()
def rewind(
    turn: Annotated[
        str,
        typer.Argument(
            metavar="TURN", help="The turn whose answer is the last one kept; its end is enough."
        ),
    ],
    *,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Go on from an earlier answer in the same chat.

    What came after it is left: its messages stay in the chat, and what was done stays done. The
    same call gets its recorded result, and one like it asks first.
    """
    report = ask_daemon(load_settings(home), REWIND, BranchRequest(turn=turn), BranchReport)
    if as_json:
        print_json(report)
    else:
        typer.echo(make_printable(report.text))
