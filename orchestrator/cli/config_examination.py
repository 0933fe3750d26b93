"""Examine the configuration as the daemon does, and collect every problem."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator import keys_file
from orchestrator.agentsfile import AgentsFile, AgentsFileError, Problem, load_agents_file
from orchestrator.agentsfile.exposure import check_exposure
from orchestrator.cli.direct_journal import load_moved_chats
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.prompts.skill_checks import check_skill_files
from orchestrator.settings import Settings


@dataclass(frozen=True)
class ExaminedConfig:
    """The parts of a configuration, and all its problems.

    ``file`` is None if agents.json cannot be used. ``environ`` is the environment with the keys.
    ``secrets`` are the fields of agents.json that may hold a secret in the file itself.
    """

    file: AgentsFile | None
    problems: tuple[Problem, ...]
    environ: Mapping[str, str]
    secrets: tuple[str, ...] = ()


def examine_config(
    settings: Settings, path: Path, variables: Mapping[str, str] = os.environ
) -> ExaminedConfig:
    """Read agents.json at ``path``, the keys, the prompts and the skills.

    ``variables`` is the environment, which wins over the home's file of keys.
    """
    keys = keys_file.read_keys(settings.home, variables)
    environ = keys.merge_under(variables)
    paths = settings.paths
    others = (paths.http_token, paths.api_token, settings.home / ".env")
    try:
        loaded = load_agents_file(path, environ, load_moved_chats(settings), settings.home)
    except AgentsFileError as error:
        problems = (*error.problems, *check_exposure(path, (), others), *keys.problems)
        return ExaminedConfig(None, problems, environ)
    problems = (
        *loaded.problems,
        *loaded.locate_problems(load_library(settings, loaded.file).problems),
        *loaded.locate_problems(check_skill_files(settings, loaded.file)),
        *check_exposure(path, loaded.secrets, others),
        *keys.problems,
    )
    return ExaminedConfig(loaded.file, problems, environ, loaded.secrets)


def load_library(settings: Settings, file: AgentsFile) -> PromptSet:
    """Read the prompt definitions as a daemon of this home would."""
    found = PromptLibrary(settings)
    found.read_files(file)
    return found.current_set
