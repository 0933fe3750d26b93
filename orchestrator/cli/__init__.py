"""The command line: names and summaries of the commands.

A command's module is imported when the command runs, so that ``orchestrator --help`` does not
load the whole program.
"""

import gc
import os
import sys
import threading
import traceback
from importlib import import_module
from io import TextIOWrapper
from types import ModuleType
from typing import Annotated, NoReturn

import typer

from orchestrator import __version__
from orchestrator.cli._output import printable
from orchestrator.errors import OrchestratorError

THREAD_SECONDS = 1.0  # for a thread to end with the process
COMMANDS = {
    "help": "Print a page of the manual, or the list of its pages.",
    "run": "Run the daemon in the foreground until SIGTERM or Ctrl-C.",
    "init": "Prepare a home with an agents.json to edit.",
    "check": "Check agents.json and the prompts, and list every problem.",
    "doctor": "Look for everything that can be wrong; change nothing.",
    "status": "Show the state of the running daemon.",
    "health": "Report whether the running daemon is alive and ready.",
    "trace": "Show the history of a message.",
    "dlq": "List, retry or drop messages that were given up.",
    "send": "Send one message to an agent, print the reply and exit.",
    "chat": "Talk to an agent of the running daemon.",
    "pair": "Decide which chats may talk to the bot.",
    "tasks": "List, run, enable or disable scheduled tasks.",
    "approvals": "Grant or deny tool calls that wait for approval.",
    "tools": "List the tools of MCP servers, or approve a changed one.",
    "agents": "List, pause or resume agents.",
    "export": "Print everything that is stored about a chat or an agent.",
    "forget": "Delete everything that is stored about a chat or an agent.",
    "api": "Open or close the OpenAI-compatible endpoints.",
    "usage": "Show how many tokens the agents used, and what they cost.",
    "reload": "Make the daemon read agents.json again now.",
    "route": "Show which agent answers a chat.",
    "prompt": "Show, check and compare prompts.",
    "service": "Install a systemd unit for the daemon.",
    "selftest": "Prove on this machine that no crash loses or repeats anything.",
}
EPILOG = """\
\b
Exit codes:
  0   done
  1   failed; the reason is on stderr
  2   wrong option or argument
  3   no daemon runs on this home
  64  agents.json has no such agent (prompt show)
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
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, TextIOWrapper):  # None if the parent process closed it
            stream.reconfigure(errors="replace")  # invalid bytes never end in a traceback
    code: object = 1
    try:
        app(prog_name="orchestrator")
    except SystemExit as ended:
        code = 0 if ended.code is None else ended.code
    except Exception:  # noqa: BLE001 - shown as Python itself would
        traceback.print_exc()
    _end(code if isinstance(code, int) else 1)


def _end(code: int) -> NoReturn:
    """End the process, also when a thread reads from a file system that never answers."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(THREAD_SECONDS)
            if thread.is_alive():  # Python would wait for it for ever
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
    sys.exit(code)


def _print_version(*, requested: bool) -> None:
    if requested:
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
    del version  # handled by its callback


def _import(module: str) -> ModuleType:
    """Import with garbage collection off; it saves a fifth of start-up."""
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        gc.enable()


def _forward(context: typer.Context) -> None:
    """Pass the remaining arguments to the command's module; print `OrchestratorError` to stderr."""
    for part in context.args:
        if part != part.encode(errors="replace").decode():
            raise typer.BadParameter(f"{part!r} is not UTF-8 text; write it in that encoding")
    command = _import(f"{__name__}.{context.info_name}").app
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
