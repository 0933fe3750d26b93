"""``orchestrator send``."""

import sys
from typing import Annotated
from uuid import uuid4

import anyio
import typer

from orchestrator.cli._conversation import ANSWERED, converse
from orchestrator.cli._options import AsJson, Home, command_group, settings
from orchestrator.cli._output import printable
from orchestrator.control.protocol import ChatSend
from orchestrator.errors import OrchestratorError

app = command_group()


@app.command()
def send(
    agent: Annotated[str, typer.Argument(help="Who is asked.")],
    text: Annotated[str, typer.Argument(help='What is said; "-" reads it from stdin.')],
    *,
    chat: Annotated[str | None, typer.Option(help="The conversation; else AGENT's own.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait.", min=0.1)] = 300,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Send one message to an agent, print the reply and exit."""
    said = sys.stdin.read() if text == "-" else text
    say = ChatSend(chat=chat or agent, message=str(uuid4()), text=said, agent=agent)
    outcome = anyio.run(converse, settings(home), say, timeout, _ignore)
    if as_json:
        typer.echo(outcome.model_dump_json(by_alias=True))
    else:
        for part in outcome.texts:
            typer.echo(printable(part))
    if outcome.state != ANSWERED:
        raise OrchestratorError(printable(outcome.error or outcome.state))


def _ignore(view: str) -> None:
    del view  # a script wants the reply alone
