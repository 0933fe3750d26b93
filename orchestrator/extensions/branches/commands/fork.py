"""``orchestrator fork``: go on from an earlier answer in a new chat."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import make_printable
from orchestrator.cli.tables import print_json
from orchestrator.extensions.branches.branches_part import FORK, BranchReport, BranchRequest

TurnArgument = Annotated[
    str,
    typer.Argument(
        metavar="TURN", help="The turn whose answer is the last one kept; its end is enough."
    ),
]
app = make_command_group()


@app.command()
def fork(
    turn: TurnArgument,
    *,
    place: Annotated[
        str, typer.Option("--in", help="web, console, or the name of a new chat there.")
    ] = "web",
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Go on from an earlier answer in a new chat.

    The conversation itself stays as it is. What was done since is not repeated: the same call gets
    its recorded result, and one like it asks first.
    """
    asked = BranchRequest(turn=turn, chat=place)
    report = ask_daemon(load_settings(home), FORK, asked, BranchReport)
    if as_json:
        print_json(report)
        return
    typer.echo(make_printable(report.text))
    channel, _, chat = report.chat.partition(":")
    opened = f"orchestrator chat {report.agent} --chat {chat}"
    typer.echo(f"go on with: {opened if channel == 'console' else f'the page, {report.url}'}")
