"""``orchestrator chat``."""

import sys
from collections.abc import Iterator
from typing import Annotated
from uuid import uuid4

import anyio
import typer
from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.text import Text

from orchestrator.cli._client import ask
from orchestrator.cli._conversation import ANSWERED, converse
from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.cli._output import printable
from orchestrator.control.protocol import STATUS, ChatOutcome, ChatSend, StatusReport
from orchestrator.errors import ExitCode, NotRunningError, OrchestratorError
from orchestrator.settings import Settings

REPLY_SECONDS = 7200.0  # the longest turn that agents.json allows; Ctrl-C ends the wait earlier
QUIT = "/quit"
PROMPT = "> "

app = command_group()


@app.command()
def chat(
    agent: Annotated[
        str | None,
        typer.Argument(metavar="AGENT", help="Agent to talk to (default: chosen by the bindings)."),
    ] = None,
    *,
    chat: Annotated[
        str | None, typer.Option(help="Id of the conversation (default: the agent's id).")
    ] = None,
    home: Home = None,
) -> None:
    """Talk to an agent of the running daemon.

    Ctrl-D or /quit ends it. Without a terminal each line of stdin is a message.
    """
    settings, console, failed = load_settings(home), Console(), False
    ask(settings, STATUS, None, StatusReport)  # fail before the first prompt if no daemon runs
    for text in _lines():
        message = ChatSend(
            chat=chat or agent or "console", message=str(uuid4()), text=text, agent=agent
        )
        try:
            outcome = _exchange(settings, message, console)
        except NotRunningError:
            raise
        except OrchestratorError as error:
            outcome = ChatOutcome(state="failed", error=str(error))
        for part in outcome.texts:
            _reply(printable(part), console)
        if outcome.state != ANSWERED:
            failed = True
            typer.echo(printable(outcome.error or outcome.state), err=True)
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.OK)


def _lines() -> Iterator[str]:
    """Yield each line that the user types, until the end of input or /quit."""
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        typer.echo(f"Ctrl-D or {QUIT} ends the conversation.")
    while line := _read(at_terminal=at_terminal):
        text = line.strip()
        if text == QUIT:
            return
        if text:
            yield text


def _read(*, at_terminal: bool) -> str:
    """Read one line with its line break; empty at the end of input."""
    if not at_terminal:
        return sys.stdin.readline()
    try:
        return input(PROMPT) + "\n"
    except EOFError:
        return ""


def _exchange(settings: Settings, message: ChatSend, console: Console) -> ChatOutcome:
    """Send a message and wait for its outcome; a terminal shows the answer as it grows."""
    if not console.is_terminal:
        return anyio.run(converse, settings, message, REPLY_SECONDS, lambda _: None)
    with Live(Text("…"), console=console, transient=True) as live:

        def show(text: str) -> None:
            live.update(Markdown(printable(text)))

        return anyio.run(converse, settings, message, REPLY_SECONDS, show)


def _reply(text: str, console: Console) -> None:
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        typer.echo(text)
