"""Options that several commands have, and the settings that they change."""

import os
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.settings import PREFIX, Settings

Home = Annotated[
    Path | None,
    typer.Option("--home", help="Home of the daemon; else ORCHESTRATOR_HOME or ~/.orchestrator."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="The agents.json to use; else the one in the home."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def command_group() -> typer.Typer:
    """An application for the command of one module."""
    return typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def settings(
    home: Path | None = None, config: Path | None = None, log_level: str | None = None
) -> Settings:
    """The settings of the environment, changed by the options that were given.

    Raises:
        ConfigError: a setting cannot be used.
    """
    given = {"HOME": home, "CONFIG": config, "LOG_LEVEL": log_level}
    changed = {PREFIX + name: str(value) for name, value in given.items() if value is not None}
    return Settings.read({**os.environ, **changed})
