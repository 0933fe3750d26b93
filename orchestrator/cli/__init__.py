"""The command line: the first screen, and the dispatch to commands.

A command's module is imported when the command runs, so that ``orchestrator --help`` does not
load the whole program.
"""

import os
import sys
import threading
import traceback
from collections.abc import Iterator
from io import TextIOWrapper
from textwrap import fill
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from orchestrator import __version__
from orchestrator.cli.commands import (
    HELP_OPTIONS,
    explain_unknown,
    find_command,
    group_commands,
    import_app,
)
from orchestrator.cli.output import print_text
from orchestrator.errors import OrchestratorError

THREAD_SECONDS = 1.0  # for a thread to end with the process
EXAMPLES = {
    "orchestrator setup": "set up a key, a model and a bot",
    "orchestrator run": "start the daemon; Ctrl-C ends it",
    "orchestrator chat": "talk to an agent, from a second terminal",
    "orchestrator status": "see what runs and what is wrong",
    'orchestrator send home "hello"': "ask the agent 'home' one thing",
}
ANY = "COMMAND"  # the one command that typer knows; it runs each command by name
WIDTH = 79  # columns of a terminal of 80 that a line fills


class _CommandLine(TyperGroup):
    """Finds commands when they are typed, and lists all by group within 80 by 24 characters."""

    def get_help(self, ctx: object) -> str:
        del ctx  # the same in all
        return "\n".join(_render_first_screen())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - typer's click
        if find_command(cmd_name) is None:
            ctx.fail(explain_unknown(cmd_name))
        return super().get_command(ctx, ANY)


def _render_first_screen() -> Iterator[str]:
    yield "Usage: orchestrator COMMAND [ARGUMENTS] [OPTIONS]\n"
    groups = {title: names for title, names in group_commands().items() if names}
    column = max(map(len, groups)) + 2
    for title, names in groups.items():
        yield fill(
            ", ".join(names),
            WIDTH,
            initial_indent=f"{title:{column}}",
            subsequent_indent=" " * column,
        )
    yield ""
    known = {name for names in groups.values() for name in names}
    examples = {line: text for line, text in EXAMPLES.items() if line.split()[1] in known}
    column = max(map(len, examples)) + 2
    for line, text in examples.items():
        yield f"  {line:{column}}{text}"
    yield ""
    yield "orchestrator COMMAND -h explains a command, orchestrator help lists the manual,"
    yield "orchestrator help exit-codes the exit codes. --version prints the version."


app = typer.Typer(
    cls=_CommandLine,
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
    _exit_process(code if isinstance(code, int) else 1)


def _exit_process(code: int) -> NoReturn:
    """End the process, even if a thread is stuck in a file system that never answers."""
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


@app.command(
    ANY,
    add_help_option=False,
    context_settings={
        "allow_extra_args": True,
        "allow_interspersed_args": False,
        "ignore_unknown_options": True,
    },
)
def _forward_arguments(context: typer.Context) -> None:
    """Run a command's module with the remaining arguments; print `OrchestratorError` to stderr."""
    for part in context.args:
        if part != part.encode(errors="replace").decode():
            raise typer.BadParameter(f"{part!r} is not UTF-8 text; write it in that encoding")
    command = find_command(context.info_name or "")
    if command is None:
        raise AssertionError(context.info_name)
    try:
        import_app(command)(context.args, prog_name=context.command_path)
    except OrchestratorError as error:
        print_text(str(error), err=True)
        raise typer.Exit(error.exit_code) from error
