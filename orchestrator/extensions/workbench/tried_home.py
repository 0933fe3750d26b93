"""Read a home as it would be with the files under trial; nothing of it changes."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from orchestrator.agentsfile.loading import parse_agents_file
from orchestrator.extensions.workbench.trial_changes import AGENTS, PROMPTS
from orchestrator.extensions.workbench.trial_worker import TrialHome
from orchestrator.home_paths import find_bundled_path
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.settings import TEMPLATES
from thinker.formats.prompts.definition_files import (
    ENDINGS,
    load_definition_file,
    scan_definitions,
)
from thinker.formats.regular_file import FileKind

Moves = Mapping[str, Mapping[str, str]]


def read_tried_home(
    home: TrialHome, files: Mapping[str, str], folder: Path, moves: Moves
) -> TrialHome:
    """Return a home with changed files, which a trial's worker finds in ``folder``.

    Raises:
        AgentsFileError: the changed agents.json cannot be used.
    """
    if AGENTS in files:
        data, root = files[AGENTS].encode(), home.settings.home
        loaded = parse_agents_file(data, AGENTS, home.environ, moves, root)
        home = replace(home, agents=loaded.file, before=home.agents)
    texts = {Path(name).name: text for name, text in files.items() if name.startswith(PROMPTS)}
    if AGENTS in files or texts:
        home = replace(home, prompts=_read_prompts(home, texts, folder))
    return home


def _read_prompts(home: TrialHome, texts: Mapping[str, str], folder: Path) -> PromptSet:
    own = home.settings.paths.prompts
    files, unusable = scan_definitions((find_bundled_path("prompts"), own))
    for name, text in texts.items():
        if name.endswith(ENDINGS) and name not in TEMPLATES:
            path = own / name
            files[path.stem] = load_definition_file(path, partial(_return_text, text))
    found = PromptLibrary(home.settings).examine_definitions(home.agents, files, unusable)
    templates = {name: folder / PROMPTS / name for name in texts if name in TEMPLATES}
    return replace(found, templates={**found.templates, **templates})


def _return_text(text: str, path: Path, kind: FileKind) -> str:
    """Return a text in place of that of a file."""
    del path, kind
    return text
