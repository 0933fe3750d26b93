"""The command line: names and summaries of the commands.

A command's module is imported when the command runs, so that ``orchestrator --help`` does not
load the whole program.
"""

import gc
import os
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module
from io import TextIOWrapper
from textwrap import fill
from types import ModuleType
from typing import Annotated, NoReturn

import typer
from typer.core import TyperGroup

from orchestrator import __version__
from orchestrator.cli._prose import say
from orchestrator.errors import OrchestratorError

THREAD_SECONDS = 1.0  # for a thread to end with the process
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Set up": {
        "setup": "Set up keys, a model and a bot, and get a first answer.",
        "init": "Prepare a home with an agents.json to edit.",
        "check": "Check agents.json, the prompts and the skills, and list every problem.",
        "config": "Push the configuration to all machines that share a journal.",
        "doctor": "Look for everything that can be wrong; change nothing.",
        "service": "Install, inspect or remove a systemd service.",
        "completion": "Print a script that completes commands in your shell.",
    },
    "Run": {
        "run": "Run the daemon in the foreground until SIGTERM or Ctrl-C.",
        "status": "Show the state of the running daemon.",
        "health": "Report whether the running daemon is alive and ready.",
        "stop": "Stop the running daemon in order.",
        "logs": "Show what the daemon logged, and follow it.",
        "reload": "Make the daemon read agents.json again now.",
    },
    "Talk": {
        "dashboard": "Open the web page, and decide who may use it.",
        "chat": "Talk to an agent of the running daemon.",
        "send": "Send one message to an agent, print the reply and exit.",
        "sessions": "List, show or end conversations.",
        "pair": "Decide which chats may talk to the bot.",
        "approvals": "Grant or deny tool calls that wait for approval.",
        "route": "Show which agent answers a chat.",
    },
    "Agents": {
        "agents": "List, pause or resume agents.",
        "tasks": "List, run, enable or disable scheduled tasks.",
        "skills": "List the skills that each agent sees, and what is wrong with them.",
        "memory": "Show what agents remember, and forget a fact.",
        "prompt": "Show, check and compare prompts.",
        "tools": "List the tools of MCP servers, or approve a changed one.",
        "models": "List providers and models with their prices, or test them.",
        "usage": "Show how many tokens the agents used, and what they cost.",
    },
    "Messages": {
        "trace": "Show the history of a message.",
        "dlq": "List, retry or drop messages that were given up.",
    },
    "Data": {
        "backup": "Write a verified copy of the home, also while the daemon runs.",
        "restore": "Make a home from a backup, after checking all of it.",
        "migrate": "Move the journal to PostgreSQL, or back to a file.",
        "export": "Print everything that is stored about a chat or an agent.",
        "forget": "Delete everything that is stored about a chat or an agent.",
    },
    "More": {
        "help": "Print a page of the manual, or the list of its pages.",
        "api": "Open or close the OpenAI-compatible endpoints.",
        "mcp": "Serve the running daemon to an MCP client.",
        "selftest": "Prove on this machine that no crash loses or repeats anything.",
    },
}
"""The commands of the first screen by group, each with its summary."""
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
EXAMPLES = {
    "orchestrator setup": "set up a key, a model and a bot",
    "orchestrator run": "start the daemon; Ctrl-C ends it",
    "orchestrator chat": "talk to an agent, from a second terminal",
    "orchestrator status": "see what runs and what is wrong",
    'orchestrator send home "hello"': "ask the agent 'home' one thing",
}
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}
WIDTH = 79  # columns of a terminal of 80 that a line fills


class _FirstScreen(TyperGroup):
    """Shows the commands by group, so that all of them stand on a terminal of 80 by 24."""

    def get_help(self, ctx: object) -> str:
        del ctx  # the same in all
        return "\n".join(_first_screen())


def _first_screen() -> Iterator[str]:
    yield "Usage: orchestrator COMMAND [ARGUMENTS] [OPTIONS]\n"
    column = max(map(len, GROUPS)) + 2
    for title, commands in GROUPS.items():
        yield fill(
            ", ".join(commands),
            WIDTH,
            initial_indent=f"{title:{column}}",
            subsequent_indent=" " * column,
        )
    yield ""
    column = max(map(len, EXAMPLES)) + 2
    for line, text in EXAMPLES.items():
        yield f"  {line:{column}}{text}"
    yield ""
    yield "orchestrator COMMAND -h explains a command, orchestrator help lists the manual,"
    yield "orchestrator help exit-codes the exit codes. --version prints the version."


app = typer.Typer(
    cls=_FirstScreen,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
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
        say(str(error), err=True)
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
