"""``orchestrator export``: everything that is stored about a chat or an agent."""

from typing import Annotated

import orjson
import typer

from orchestrator.cli._options import ChatWords, Home, command_group, load_settings
from orchestrator.cli.forget import chat_subject
from orchestrator.errors import UnknownNameError
from orchestrator.journal.opening import reading
from orchestrator.journal.upkeep import erasure
from orchestrator.journal.upkeep.erasure import Subject
from orchestrator.settings import Settings

AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")]
app = command_group("export")


@app.command()
def chat(name: ChatWords, *, home: Home = None) -> None:
    """Print the journal's rows of a chat as JSON lines, each with its table."""
    _print(load_settings(home), chat_subject(name))


@app.command()
def agent(name: AgentName, *, home: Home = None) -> None:
    """Print the journal's rows of an agent as JSON lines, each with its table."""
    _print(load_settings(home), Subject(agent=name))


def _print(settings: Settings, subject: Subject) -> None:
    rows = 0
    with reading(settings.journal) as db:
        for row in erasure.export(db, subject):
            typer.echo(orjson.dumps(row))
            rows += 1
    if not rows:
        raise UnknownNameError(f"the journal has nothing about {subject}")
