"""``orchestrator chat``: a prompt below the answers, or lines from a pipe."""

import os
import sys
from collections.abc import Iterator
from typing import Annotated
from uuid import uuid4

import anyio
import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.conversation import (
    ANSWERED,
    require_answering_agent,
    send_and_wait,
    tell_earlier_question,
    tell_question,
)
from orchestrator.cli.options import Home, load_settings
from orchestrator.cli.output import make_printable
from orchestrator.control.protocol import (
    CHAT_WATCH,
    ChatOutcome,
    ChatScene,
    ChatSend,
    ChatWatch,
)
from orchestrator.errors import ExitCode, NotRunningError, OrchestratorError, UnknownAgentError
from orchestrator.settings import Settings

REPLY_SECONDS = 7200.0  # the longest turn that agents.json allows; Ctrl-C ends the wait earlier
QUIT = "/quit"
PROMPT = "> "
DUMB = ("", "dumb", "unknown")  # values of TERM for terminals without a cursor to move

app = make_command_group()


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

    Enter sends, Alt-Enter starts a new line, Ctrl-R searches what you wrote. Ctrl-C stops an
    answer; Ctrl-D or /quit ends the conversation. Without a terminal each line of stdin is a
    message.
    """
    settings, place = load_settings(home), chat or agent or "console"
    if _is_terminal():
        from orchestrator.extensions.terminal.repl import Repl  # noqa: PLC0415 - slow to load; pipes need none

        anyio.run(Repl(settings, place, agent).run)
        return
    raise typer.Exit(ExitCode.OK if _send_lines(settings, place, agent) else ExitCode.FAILED)


def _is_terminal() -> bool:
    usable = os.environ.get("TERM", "") not in DUMB
    return usable and sys.stdin.isatty() and sys.stdout.isatty()


def _send_lines(settings: Settings, place: str, agent: str | None) -> bool:
    """Send each line and print its reply; return whether all were answered."""
    watch = ChatWatch(chat=place, agent=agent)
    require_answering_agent(
        ask_daemon(settings, CHAT_WATCH, watch, ChatScene), agent
    )  # before the first prompt
    every = True
    for text in _read_lines():
        message = ChatSend(chat=place, message=str(uuid4()), text=text, agent=agent)
        try:
            tellers = tell_question, tell_earlier_question
            outcome = anyio.run(send_and_wait, settings, message, REPLY_SECONDS, *tellers)
        except (NotRunningError, UnknownAgentError):
            raise
        except OrchestratorError as error:
            outcome = ChatOutcome(state="failed", error=str(error))
        for part in outcome.texts:
            typer.echo(make_printable(part))
        if outcome.state != ANSWERED:
            every = False
            typer.echo(make_printable(outcome.error or outcome.state), err=True)
    return every


def _read_lines() -> Iterator[str]:
    """Yield each line that the user types, until the end of input or /quit."""
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        typer.echo(f"Ctrl-D or {QUIT} ends the conversation.")
    while line := _read_line(at_terminal=at_terminal):
        text = line.strip()
        if text == QUIT:
            return
        if text:
            yield text


def _read_line(*, at_terminal: bool) -> str:
    """Read one line with its line break; empty at the end of input."""
    if not at_terminal:
        return sys.stdin.readline()
    try:
        return input(PROMPT) + "\n"
    except EOFError:
        return ""
