"""Everything that can be wrong with the configuration, as the daemon would tell it."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator import keys_file
from orchestrator.agentsfile import AgentsFile, AgentsFileError, Problem, load
from orchestrator.agentsfile.exposure import exposed
from orchestrator.cli._direct_journal import moved_chats
from orchestrator.cli.prompt.listing import library
from orchestrator.prompts.skill_checks import skill_problems
from orchestrator.settings import Settings
from orchestrator.timezones import host_timezone


@dataclass(frozen=True)
class Examined:
    """agents.json, None if it cannot be used; all problems, and the environment with the keys.

    ``secrets`` are the fields of agents.json that may hold a secret as it stands.
    """

    file: AgentsFile | None
    problems: tuple[Problem, ...]
    environ: Mapping[str, str]
    secrets: tuple[str, ...] = ()


def examined(settings: Settings, path: Path, variables: Mapping[str, str] = os.environ) -> Examined:
    """Read agents.json at ``path``, the keys, the prompts and the skills.

    ``variables`` are those of the environment, which win over the home's file of keys.
    """
    keys = keys_file.read(settings.home, variables)
    environ = settings.with_token(keys.under(variables))
    paths = settings.paths
    others = (paths.http_token, paths.api_token, settings.home / ".env")
    try:
        loaded = load(path, environ, moved_chats(settings), settings.home)
    except AgentsFileError as error:
        problems = (*error.problems, *exposed(path, (), others), *keys.problems)
        return Examined(None, problems, environ)
    zone, now = host_timezone(environ), round(time.time() * 1000)
    problems = (
        *loaded.problems,
        *loaded.located(library(settings, loaded.file).problems),
        *loaded.located(skill_problems(settings, loaded.file, zone, now)),
        *exposed(path, loaded.secrets, others),
        *keys.problems,
    )
    return Examined(loaded.file, problems, environ, loaded.secrets)
