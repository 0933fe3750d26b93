"""The kinds of texts that are files of the home: agents.json, prompts, skills and personas."""

import re
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from orchestrator.active_extensions import list_file_problems
from orchestrator.agentsfile import AgentsFile, AgentsFileError, LoadedConfig, Problem
from orchestrator.agentsfile.loading import parse_agents_file
from orchestrator.editable import EditableKind
from orchestrator.errors import UnknownNameError
from orchestrator.extensions.versions import home_files
from orchestrator.extensions.versions.agents_sentences import describe_agents_change
from orchestrator.extensions.versions.home_files import FilePlace
from orchestrator.extensions.versions.prompt_sentences import (
    describe_persona_change,
    describe_prompt_change,
)
from orchestrator.extensions.versions.skill_sentences import describe_skill_change
from orchestrator.extensions.versions.unserved_tools import check_served_names
from orchestrator.files import OffLoop
from orchestrator.home_paths import find_bundled_path
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.skill_checks import check_skill_files
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.settings import Settings
from thinker.formats import regular_file
from thinker.formats.prompts.definition_files import (
    ENDINGS,
    OTHER_DATA,
    load_definition_file,
    scan_definitions,
)
from thinker.formats.regular_file import FileKind
from thinker.formats.skill_file import FILE_NAME, SkillError, parse_skill

MAIN = "agents.json"
PERSONA_TEXT = "instructions.md"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}"
Moves = Mapping[str, Mapping[str, str]]


CLUSTER = (
    "machines that share a journal share a configuration: run 'orchestrator config push' to share"
    " the edit; the next push of another machine replaces it, and keeps it beside the new file"
)


@dataclass(frozen=True)
class ConfiguredHome:
    """A home whose files are edited.

    ``load_moves`` returns the first ids of moved chats, keyed by new id. ``get_agents`` returns the
    agents.json in force, and ``get_loaded`` how it was read. ``apply`` puts files in force that
    have been written. ``list_served`` returns the servers of the tools that are known now, keyed by
    the tools' names.
    """

    settings: Settings
    environ: Mapping[str, str]
    load_moves: Callable[[], Awaitable[Moves]]
    get_agents: Callable[[], AgentsFile]
    apply: Callable[[], Awaitable[object]]
    off_loop: OffLoop
    in_thread: OffLoop
    list_served: Callable[[], Mapping[str, str]] = dict
    get_loaded: Callable[[], LoadedConfig | None] = lambda: None

    def find_note(self) -> str:
        """Return what an edit means in a home whose configuration other machines share."""
        return CLUSTER if self.settings.paths.pushed.exists() else ""


class HomeFileKind(EditableKind):
    """Texts that are files; the path of each follows from its name."""

    size: ClassVar[FileKind]
    pattern: ClassVar[re.Pattern[str]]

    def __init__(self, home: ConfiguredHome) -> None:
        self.home = home
        self.settings = home.settings

    @abstractmethod
    def find_file(self, match: re.Match[str]) -> FilePlace:
        """Return the place of the file for a name that matches."""

    def find_place(self, name: str) -> str:
        return str(self._find(name).path)

    async def read_text(self, name: str) -> str | None:
        return await self.home.off_loop(home_files.read_file, self._find(name), self.size)

    async def write_text(self, name: str, old: str | None, new: str | None, by: str) -> str:
        del by
        place, in_thread = self._find(name), self.home.in_thread
        if new is None:
            await in_thread(home_files.remove_file, place, self.size, old)
        else:
            await in_thread(home_files.replace_file, place, self.size, old, new)
        await self.home.apply()
        return name

    async def check_text(self, name: str, text: str | None) -> Sequence[Problem]:
        if text is not None and len(text.encode("utf-8", "replace")) > self.size.max_bytes:
            limit = self.size.max_bytes // 1024
            return (_build_error(name, f"larger than {limit} KiB; {self.size.advice}"),)
        if text is not None and "\0" in text:
            return (_build_error(name, "it has a NUL character; remove it"),)
        path = self.find_place(name)
        problems = await self.check_content(name, text)
        return [replace(one, file=name) if one.file == path else one for one in problems]

    @abstractmethod
    async def check_content(self, name: str, text: str | None) -> Sequence[Problem]:
        """Return the problems of a text that is not too large."""

    def _find(self, name: str) -> FilePlace:
        match = self.pattern.fullmatch(name)
        if match is None or ".." in name:
            raise UnknownNameError(
                f"{name!r} is no name of {self.title}; use letters, digits, '.', '-' and '_'"
            )
        return self.find_file(match)


class AgentsKind(HomeFileKind):
    """agents.json: the home's, or the one that the environment names."""

    prefix, title, size = MAIN, "agents, chats, channels and tool servers", regular_file.AGENTS_FILE
    pattern = re.compile(re.escape(MAIN))

    def find_file(self, match: re.Match[str]) -> FilePlace:
        del match
        settings = self.settings
        if settings.config is not None:
            return FilePlace(settings.config, (settings.config.parent,))
        return FilePlace(settings.home / MAIN, (settings.home,))

    async def list_names(self) -> Sequence[str]:
        return (MAIN,)

    async def read_text(self, name: str) -> str | None:
        """Return the file in use; the bundled one as long as the home has none."""
        own = await super().read_text(name)
        used = self.settings.find_agents_file()
        if own is not None or used.parent != find_bundled_path("config"):
            return own
        return await self.home.off_loop(regular_file.read_text, used, regular_file.AGENTS_FILE)

    async def write_text(self, name: str, old: str | None, new: str | None, by: str) -> str:
        first = await super().read_text(name) is None  # what was read came with the program
        return await super().write_text(name, None if first else old, new, by)

    async def check_content(self, name: str, text: str | None) -> Sequence[Problem]:
        if text is None:
            return (_build_error(name, "it cannot be removed; an agent needs it"),)
        moves = await self.home.load_moves()
        served = self.home.list_served()
        return await self.home.off_loop(self._check, text.encode(), moves, served)

    def _check(self, data: bytes, moves: Moves, served: Mapping[str, str]) -> Sequence[Problem]:
        settings = self.settings
        try:
            before, text = self.home.get_loaded(), data.decode("utf-8-sig")
            loaded = (
                before  # an edit that is noticed was read already
                if before is not None and before.document.text == text
                else parse_agents_file(data, MAIN, self.home.environ, moves, settings.home, before)
            )
        except AgentsFileError as error:
            return error.problems
        library = PromptLibrary(settings)
        others = (
            *library.examine_files(loaded.file).problems,
            *check_skill_files(settings, loaded.file),
            *check_served_names(loaded.file, served),
        )
        # The other files are as they were, whatever is wrong with them.
        own = (problem for problem in loaded.locate_problems(others) if problem.file == MAIN)
        return (*loaded.problems, *own)

    async def describe_change(self, name: str, old: str | None, new: str | None) -> Sequence[str]:
        del name
        return await self.home.in_thread(describe_agents_change, old, new)


class PromptKind(HomeFileKind):
    """The prompt definitions of the home, and its own templates."""

    prefix, title, size = "prompts/", "a prompt definition", regular_file.DEFINITION
    pattern = re.compile(rf"prompts/({_NAME}(?:{'|'.join(map(re.escape, ENDINGS))}))")

    def find_file(self, match: re.Match[str]) -> FilePlace:
        folder = self.settings.paths.prompts
        return FilePlace(folder / match[1], (self.settings.home, folder))

    async def list_names(self) -> Sequence[str]:
        paths = await self.home.off_loop(home_files.list_files, self.settings.paths.prompts, "*")
        names = (f"prompts/{path.name}" for path in paths if path.name != OTHER_DATA)
        return [name for name in names if self.pattern.fullmatch(name)]

    async def check_content(self, name: str, text: str | None) -> Sequence[Problem]:
        return await self.home.off_loop(self._check, name, text, self.home.get_agents())

    def _check(self, name: str, text: str | None, agents: AgentsFile) -> Sequence[Problem]:
        path = self._find(name).path
        library = PromptLibrary(self.settings)
        bundled, unusable = scan_definitions((find_bundled_path("prompts"),))
        own, unusable_own = scan_definitions((self.settings.paths.prompts,))
        unusable |= unusable_own
        library.adopt_set(library.examine_definitions(agents, bundled | own, unusable))
        before = {problem for problem in library.current_set.problems if problem.file != str(path)}
        taken = own.get(path.stem)
        if text is None:
            own = {key: one for key, one in own.items() if one.path != path}
        elif taken is not None and taken.path != path:
            text_of_error = f"{taken.path.name} has the same name; choose another one"
            return (_build_error(name, text_of_error),)
        else:
            own[path.stem] = load_definition_file(path, lambda _path, _kind: text)
        found = library.examine_definitions(agents, bundled | own, unusable).problems
        return [problem for problem in found if problem not in before]

    async def describe_change(self, name: str, old: str | None, new: str | None) -> Sequence[str]:
        users = [
            agent.agent_id
            for agent in self.home.get_agents().agents
            if agent.prompt == Path(name).stem
        ]
        return await self.home.in_thread(describe_prompt_change, name, old, new, users)


class SkillKind(HomeFileKind):
    """The skills of the home that all agents share."""

    prefix, title, size = "skills/", "a skill", regular_file.SKILL
    pattern = re.compile(rf"skills/({_NAME})/{re.escape(FILE_NAME)}")

    def find_file(self, match: re.Match[str]) -> FilePlace:
        folder = self.settings.paths.skills
        return FilePlace(folder / match[1] / FILE_NAME, (self.settings.home, folder))

    async def list_names(self) -> Sequence[str]:
        folder = self.settings.paths.skills
        paths = await self.home.off_loop(home_files.list_files, folder, f"*/{FILE_NAME}")
        names = (f"skills/{path.parent.name}/{FILE_NAME}" for path in paths)
        return [name for name in names if self.pattern.fullmatch(name)]

    async def write_text(self, name: str, old: str | None, new: str | None, by: str) -> str:
        await super().write_text(name, old, new, by)
        if new is None:
            await self.home.in_thread(_remove_empty_folder, self._find(name).path.parent)
        return name

    async def check_content(self, name: str, text: str | None) -> Sequence[Problem]:
        if text is None:
            return ()
        path = self._find(name).path
        return await self.home.off_loop(
            check_skill_text, self.settings, self.home.get_agents(), path, text
        )

    async def describe_change(self, name: str, old: str | None, new: str | None) -> Sequence[str]:
        folder = Path(name).parent.name
        return await self.home.in_thread(describe_skill_change, folder, old, new)


class PersonaKind(SkillKind):
    """What the home has for single agents: the text of a persona, and skills."""

    prefix, title, size = "personas/", "an agent's own prompt or skill", regular_file.BASE_PROMPT
    pattern = re.compile(
        rf"personas/([a-z0-9_-]{{1,64}})/({PERSONA_TEXT}|skills/{_NAME}/{re.escape(FILE_NAME)})"
    )

    def find_file(self, match: re.Match[str]) -> FilePlace:
        if match[2] == PERSONA_TEXT:
            folder, roots = self.settings.personas, (self.settings.personas,)
            return FilePlace(folder / match[1] / PERSONA_TEXT, roots)
        folder = self.settings.paths.personas
        return FilePlace(folder / match[1] / match[2], (self.settings.home, folder))

    async def list_names(self) -> Sequence[str]:
        texts = await self.home.off_loop(
            home_files.list_files, self.settings.personas, f"*/{PERSONA_TEXT}"
        )
        folder = self.settings.paths.personas
        skills = await self.home.off_loop(home_files.list_files, folder, f"*/skills/*/{FILE_NAME}")
        found = [f"personas/{path.parent.name}/{PERSONA_TEXT}" for path in texts]
        found += [f"personas/{path.relative_to(folder)}" for path in skills]
        return sorted(name for name in found if self.pattern.fullmatch(name))

    async def check_content(self, name: str, text: str | None) -> Sequence[Problem]:
        if not name.endswith(f"/{PERSONA_TEXT}"):
            return await super().check_content(name, text)
        empty = text is not None and not text.strip()
        return (_build_error(name, "it is empty; write the text or remove it"),) if empty else ()

    async def describe_change(self, name: str, old: str | None, new: str | None) -> Sequence[str]:
        if not name.endswith(f"/{PERSONA_TEXT}"):
            return await super().describe_change(name, old, new)
        agent_id = name.split("/")[1]
        return describe_persona_change(self.home.get_agents().find_agent(agent_id), old, new)


def build_file_kinds(home: ConfiguredHome) -> tuple[HomeFileKind, ...]:
    """Return all kinds of texts that are files."""
    return AgentsKind(home), PromptKind(home), SkillKind(home), PersonaKind(home)


def check_skill_text(
    settings: Settings, agents: AgentsFile, path: Path, text: str
) -> Sequence[Problem]:
    """Return the problems that a text at the path of a SKILL.md would have."""
    try:
        skill = parse_skill(text, path.parent.name, path)
    except SkillError as error:
        found = error.problem
        return (Problem("error", found.file, found.line, None, found.message),)
    skills = SkillSet.read_skills(settings, agents)
    if path.is_relative_to(settings.paths.skills):
        skills = replace(skills, shared={**skills.shared, skill.name: skill})
    else:
        owner = path.relative_to(settings.paths.personas).parts[0]
        own = {**skills.own.get(owner, {}), skill.name: skill}
        skills = replace(skills, own={**skills.own, owner: own})
    problems = list_file_problems(settings, agents, skills)
    return [problem for problem in problems if problem.file == str(path)]


def _build_error(name: str, message: str) -> Problem:
    return Problem("error", name, 0, None, message)


def _remove_empty_folder(folder: Path) -> None:
    """Remove the folder of a removed skill, unless other files are in it."""
    try:
        folder.rmdir()
    except OSError:
        return
