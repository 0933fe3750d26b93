"""Options that several commands share, and the settings they change."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from orchestrator import keys_file
from orchestrator.cli._group import command_group
from orchestrator.settings import PREFIX, Settings

__all__ = ["AsJson", "Config", "Home", "RowNumber", "command_group", "environment", "load_settings"]

Home = Annotated[
    Path | None,
    typer.Option(
        "--home", help="Home of the daemon (default: ORCHESTRATOR_HOME or ~/.orchestrator)."
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", help="The agents.json to use (default: the home's, or else the bundled one)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


RowNumber = Annotated[
    int, typer.Argument(metavar="ID", help="Number from the list.", min=1, max=2**63 - 1)
]


def load_settings(
    home: Path | None = None, config: Path | None = None, log_level: str | None = None
) -> Settings:
    """Read the settings from the environment and the home's file of keys.

    Options that are not None override both.

    Raises:
        ConfigError: a setting is invalid.
    """
    options = {"HOME": home, "CONFIG": config, "LOG_LEVEL": log_level}
    overrides = {PREFIX + name: str(value) for name, value in options.items() if value is not None}
    given = {**os.environ, **overrides}
    found = Settings.read(given)
    keys = keys_file.read(found.home, given)
    return Settings.read(keys.under(given)) if keys.values else found


def environment(settings: Settings) -> Mapping[str, str]:
    """Return the variables of this shell, and from the home's file of keys what it does not set."""
    return keys_file.environment(settings.home, os.environ)
