"""The application of a command's module; apart from `_options`, which needs the settings."""

import typer

from orchestrator.cli import COMMANDS, HELP_OPTIONS


def command_group(name: str | None = None) -> typer.Typer:
    """Return an application, to which a module adds its commands.

    ``name`` is that of a group of subcommands; without it the module has one command.
    """
    return typer.Typer(
        help=COMMANDS[name] if name else None,
        callback=(lambda: None) if name else None,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=HELP_OPTIONS,
    )
