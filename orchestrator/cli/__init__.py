"""The command line. This file knows names and summaries alone.

A command's module is imported when the command is used, so that ``orchestrator --help`` need not
load the whole program.
"""

import gc
import sys
from importlib import import_module
from io import TextIOWrapper
from types import ModuleType
from typing import Annotated

import typer

from orchestrator import __version__
from orchestrator.cli._output import printable
from orchestrator.errors import OrchestratorError

COMMANDS = {
    "help": "Print a page of the manual, or the list of its pages.",
    "run": "Run the daemon in the foreground until SIGTERM or Ctrl-C.",
    "init": "Prepare a home with an agents.json to edit.",
    "check": "Check agents.json and the prompts, name all that is wrong.",
    "status": "Show what the running daemon does.",
    "health": "Say whether the running daemon does its work.",
    "trace": "Show what became of a message.",
    "dlq": "Decide about messages that were given up.",
    "send": "Send one message to an agent, print the reply and exit.",
    "chat": "Talk to an agent of the running daemon.",
    "pair": "Decide which chats may talk to the bot.",
    "tasks": "List scheduled tasks, run one, switch it on or off.",
    "approvals": "Answer tool calls that wait for a person's word.",
    "tools": "List the tools of MCP servers, approve one that has changed.",
    "agents": "List the agents, pause one, or put it back to work.",
    "export": "Print everything that is kept of a chat or of an agent.",
    "forget": "Remove everything of a chat or of an agent.",
    "api": "Open the OpenAI-compatible endpoints, or close them.",
    "usage": "Show how many tokens the agents used, and what they cost.",
    "reload": "Have the daemon read agents.json again, now.",
    "route": "Find out which agent answers a chat.",
    "prompt": "See what an agent's model would see, and the definitions.",
    "service": "Have systemd run the daemon.",
    "selftest": "Prove on this machine that no crash loses or repeats anything.",
}
EPILOG = """\
\b
Exit codes:
  0   done
  1   it did not work; the reason is on stderr
  2   wrong option or argument
  3   no daemon runs on this home
  64  no such agent
  74  the journal cannot be opened or written
  75  another daemon holds this home
  78  agents.json or a setting cannot be used
  130 interrupted
"""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
)


def main() -> None:
    """The console script ``orchestrator``."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, TextIOWrapper):  # not when it was closed by who started us
            stream.reconfigure(errors="replace")  # odd bytes are shown as such, never a traceback
    app(prog_name="orchestrator")


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"orchestrator {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """One daemon, one process per agent: chat agents that never lose a message."""
    del version  # answered by its callback, before a command is looked for


def _imported(module: str) -> ModuleType:
    """A command's module. Next to nothing that an import makes is garbage: nobody looks for any.

    A fifth of the daemon's start went into that search.
    """
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        gc.enable()


def _forward(context: typer.Context) -> None:
    """Give the rest of the line to the module of this command, and report our own errors."""
    for part in context.args:
        if part != part.encode(errors="replace").decode():
            raise typer.BadParameter(f"{part!r} is not UTF-8 text; write it in that encoding")
    command = _imported(f"{__name__}.{context.info_name}").app
    try:
        command(context.args, prog_name=context.command_path)
    except OrchestratorError as error:
        typer.echo(printable(str(error)), err=True)
        raise typer.Exit(error.exit_code) from error


for _name, _summary in COMMANDS.items():
    app.command(
        _name,
        help=_summary,
        add_help_option=False,
        context_settings={
            "allow_extra_args": True,
            "allow_interspersed_args": False,
            "ignore_unknown_options": True,
        },
    )(_forward)
