"""The application of all commands: each is found, imported and run by its name."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from orchestrator import __version__
from orchestrator.cli.commands import (
    HELP_OPTIONS,
    explain_unknown,
    find_command,
    import_app,
)
from orchestrator.cli.first_screen import render_first_screen
from orchestrator.cli.output import print_text
from orchestrator.errors import OrchestratorError

ANY = "COMMAND"  # the one command that typer knows; it runs each command by name


class _CommandLine(TyperGroup):
    """Finds commands when they are typed, and lists all by group within 80 by 24 characters."""

    def get_help(self, ctx: object) -> str:
        del ctx  # the same in all
        return render_first_screen()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - typer's click
        if find_command(cmd_name) is None:
            ctx.fail(explain_unknown(cmd_name))
        return super().get_command(ctx, ANY)


app = typer.Typer(
    cls=_CommandLine,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


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
