"""The current prompt definitions, read and checked together, with the last good versions.

A definition that cannot be used is replaced by its last usable version, also after a restart.
Problems are reported with the place in the file and a correction.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from orchestrator.active_extensions import list_file_problems
from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.files import write_private
from orchestrator.home_paths import find_bundled_path
from orchestrator.installed import find_installed
from orchestrator.loop_bound import LoopBound
from orchestrator.prompts import prompt_checks
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.prompts.prompt_tools import build_registry
from orchestrator.settings import TEMPLATES, Settings
from orchestrator.tools.host_tools import find_host_tools
from thinker.formats import regular_file
from thinker.formats.prompts.bundle import bundle_definitions
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.definition_files import DefinitionFile, scan_definitions
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.messages import LATE

_STORED: TypeAdapter[dict[str, PromptDefinition]] = TypeAdapter(
    dict[str, PromptDefinition], config=LATE
)
log = structlog.get_logger()


class PromptLibrary(LoopBound):
    """Definitions by name, and the settings that they make for each agent."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folders = (find_bundled_path("prompts"), settings.paths.prompts)
        self._store = settings.paths.prompts_last_good
        self._hooks = settings.paths.hooks
        self._has_read = False
        self.current_set = PromptSet()  # the definitions in use

    def read_files(self, agents: AgentsFile) -> None:
        """Read all files again and use them."""
        self.adopt_set(self.examine_files(agents))

    def adopt_set(self, found: PromptSet) -> None:
        self.current_set, self._has_read = found, True

    def report_unread(self, reason: str) -> None:
        """Keep the current definitions, and report why the files were not read."""
        problem = Problem.build_unusable(self._folders[-1], reason)
        self.adopt_set(replace(self.current_set, problems=(problem,)))

    def examine_files(self, agents: AgentsFile) -> PromptSet:
        """Read all files, with the last good version of each unusable definition."""
        return self.examine_definitions(agents, *scan_definitions(self._folders))

    def examine_definitions(
        self,
        agents: AgentsFile,
        files: Mapping[str, DefinitionFile],
        unusable: dict[Path, FileError],
    ) -> PromptSet:
        """Check definitions that were read, and the folders and files that are ``unusable``."""
        before = self.current_set.definitions if self._has_read else _load_last_good(self._store)
        fresh = {name: file.definition for name, file in files.items() if file.definition}
        offered = {**before, **fresh}
        hooks = frozenset[str]()
        try:
            hooks = prompt_checks.list_known_hooks(self._hooks, agents, offered.values())
        except FileError as error:
            unusable[self._hooks] = error
        current, problems = prompt_checks.choose_usable_versions(offered, before, agents, hooks)
        bundles = {name: bundle_definitions(current, name) for name in current}
        used = {agent.prompt for agent in agents.agents} & bundles.keys()
        needed = {part for name in used if name for part in bundles[name].definitions}
        bundles = {n: found for n, found in bundles.items() if n in files or n in needed}
        definitions = {name: current[name] for name in bundles}
        host = find_host_tools(agents)
        names = build_registry(current, agents, hooks)
        for name, definition in definitions.items():
            problems[name] = (
                *problems.get(name, ()),
                *prompt_checks.find_ignored_settings(definition, names, host.tools),
                *prompt_checks.find_unknown_options(definition, names, host.tools),
            )
        findings = {
            name: (*file.problems, *problems.get(name, ()))
            for name, file in files.items()
            if file.path.parent != self._folders[0]  # bundled ones name tools that few agents have
        }
        read = PromptSet(
            definitions,
            (
                *(Problem.build_unusable(path, str(error)) for path, error in unusable.items()),
                *prompt_checks.list_file_problems(files, findings, definitions),
                *prompt_checks.check_agents(agents, definitions, files),
                *prompt_checks.check_hooks(agents, definitions, hooks),
                *prompt_checks.check_base_prompts(self._settings),
                *prompt_checks.check_hook_syntax(self._hooks, agents),
                *prompt_checks.check_host_tools(agents, host),
            ),
            bundles,
            lambda name, environment: {
                tool: made
                for extension in find_installed().own.values()
                for tool, made in extension.build_prompt_tools(
                    current[name], current, names, agents, environment
                )
            },
            agents.variables,
            names,
            {name: path for name in TEMPLATES if os.path.lexists(path := self._folders[-1] / name)},
            host.tools,
        )
        advice = list_file_problems(self._settings, agents, read)
        return replace(read, problems=(*read.problems, *advice))

    def store_last_good(self) -> None:
        """Store the current definitions, for a restart with broken files."""
        data = _STORED.dump_json(self.current_set.definitions, by_alias=True, exclude_none=True)
        with suppress(FileError):  # written anew
            if regular_file.read_bytes(self._store, regular_file.STORED_PROMPTS) == data:
                return
        try:
            write_private(self._store, data)
        except OSError as error:
            log.warning("last_good_not_kept", problem=str(error))


def _load_last_good(path: Path) -> dict[str, PromptDefinition]:
    try:
        return _STORED.validate_json(regular_file.read_bytes(path, regular_file.STORED_PROMPTS))
    except FileMissingError:
        pass
    except (FileError, ValidationError) as error:
        log.warning("last_good_prompts_not_read", problem=str(error))
    return {}
