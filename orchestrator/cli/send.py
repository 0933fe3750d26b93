"""``orchestrator send``."""

import sys
from typing import Annotated
from uuid import uuid4

import anyio
import typer

from orchestrator.cli._conversation import ANSWERED, converse, tell_earlier, tell_question
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import escaped, printable
from orchestrator.cli._prose import say
from orchestrator.control.protocol import ChatSend
from orchestrator.errors import OrchestratorError

app = command_group()


@app.command()
def send(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Id of the agent.")],
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help='The message; "-" reads it from stdin.')
    ],
    *,
    chat: Annotated[
        str | None, typer.Option(help="Id of the conversation (default: the agent's id).")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the reply.", min=0.1)] = 300,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Send one message to an agent, print the reply and exit."""
    content = sys.stdin.read() if text == "-" else text
    message = ChatSend(chat=chat or agent, message=str(uuid4()), text=content, agent=agent)
    tellers = tell_question, tell_earlier
    outcome = anyio.run(converse, load_settings(home), message, timeout, *tellers)
    if as_json:
        typer.echo(escaped(outcome.model_dump_json(by_alias=True)))
    else:
        for part in outcome.texts:
            say(part)
    if outcome.state != ANSWERED:
        raise OrchestratorError(printable(outcome.error or outcome.state))
