"""``orchestrator send``."""

import sys
from typing import Annotated
from uuid import uuid4

import anyio
import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.conversation import (
    ANSWERED,
    send_and_wait,
    tell_earlier_question,
    tell_question,
)
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import make_printable, print_text
from orchestrator.cli.tables import print_json
from orchestrator.control.protocol import ChatSend
from orchestrator.errors import OrchestratorError

app = make_command_group()


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
    tellers = tell_question, tell_earlier_question
    outcome = anyio.run(send_and_wait, load_settings(home), message, timeout, *tellers)
    if as_json:
        print_json(outcome, indent=None)
    else:
        for part in outcome.texts:
            print_text(part)
    if outcome.state != ANSWERED:
        raise OrchestratorError(make_printable(outcome.error or outcome.state))
