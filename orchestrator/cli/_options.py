"""Options that several commands share, and the settings they change."""

import os
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.settings import PREFIX, Settings

Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Home of the daemon (default: ORCHESTRATOR_HOME or ~/.orchestrator).",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", help="The agents.json to use (default: the home's, or else the bundled one)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def command_group() -> typer.Typer:
    """Return an empty application, to which a module adds its commands."""
    return typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def load_settings(
    home: Path | None = None, config: Path | None = None, log_level: str | None = None
) -> Settings:
    """Read the settings from the environment; options that are not None override it.

    Raises:
        ConfigError: a setting is invalid.
    """
    options = {"HOME": home, "CONFIG": config, "LOG_LEVEL": log_level}
    overrides = {PREFIX + name: str(value) for name, value in options.items() if value is not None}
    return Settings.read({**os.environ, **overrides})
