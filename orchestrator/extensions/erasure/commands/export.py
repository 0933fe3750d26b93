"""``orchestrator export``: print all stored data of a chat or an agent."""

from typing import Annotated

import orjson
import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import ChatWords, Home, load_settings
from orchestrator.errors import UnknownNameError
from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.commands.forget import parse_subject
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings

AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")]
app = make_command_group("export")


@app.command()
def chat(name: ChatWords, *, home: Home = None) -> None:
    """Print the journal's rows of a chat as JSON lines, each with its table."""
    _print_rows(load_settings(home), parse_subject(name))


@app.command()
def agent(name: AgentName, *, home: Home = None) -> None:
    """Print the journal's rows of an agent as JSON lines, each with its table."""
    _print_rows(load_settings(home), Subject(agent=name))


def _print_rows(settings: Settings, subject: Subject) -> None:
    rows = 0
    with open_for_reading(settings.journal) as db:
        for row in erasure.export_rows(db, subject):
            typer.echo(orjson.dumps(row))
            rows += 1
    if not rows:
        raise UnknownNameError(f"the journal has nothing about {subject}")
