"""The settings of a command, and the agents.json that they name."""

import os
from collections.abc import Mapping
from pathlib import Path

from orchestrator import keys_file
from orchestrator.agentsfile import AgentsFile, load_agents_file
from orchestrator.cli.other_user import require_access
from orchestrator.settings import PREFIX, Settings


def load_settings(
    home: Path | None = None, config: Path | None = None, log_level: str | None = None
) -> Settings:
    """Read the settings from the environment and the home's file of keys.

    Options that are not None override both.

    Raises:
        ConfigError: a setting is invalid, or the home is closed to this user.
    """
    options = {"HOME": home, "CONFIG": config, "LOG_LEVEL": log_level}
    overrides = {PREFIX + name: str(value) for name, value in options.items() if value is not None}
    given = {**os.environ, **overrides}
    found = Settings.read_environ(given)
    require_access(found.home)
    keys = keys_file.read_keys(found.home, given)
    return Settings.read_environ(keys.merge_under(given)) if keys.values else found


def load_environment(settings: Settings) -> Mapping[str, str]:
    """Return the variables of this shell, completed from the home's file of keys."""
    return keys_file.load_environment(settings.home, os.environ)


def load_agents(settings: Settings) -> AgentsFile:
    """Read agents.json as the daemon of this home would.

    Raises:
        AgentsFileError: the file cannot be used.
    """
    return load_agents_file(settings.find_agents_file(), load_environment(settings)).file
