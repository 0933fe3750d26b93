"""Tools to read skill files and stored playbooks, and to change playbooks."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, TypeVar, TypeVarTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)

from orchestrator.extensions.skills import playbook_changes
from orchestrator.extensions.skills.bundled_files import list_bundled_files, read_bundled
from orchestrator.extensions.skills.playbook_changes import PlaybookError
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import playbooks
from orchestrator.journal.memory.playbooks import StoredPlaybook
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    assume_lasting,
    journal_tool,
    mark_quoted_text,
    plain_tool,
    read_text_argument,
)
from thinker.formats.skill_file import SkillFile, scan_skills
from thinker.formats.word_lists import WORDS, is_blank, parse_words
from thinker.protocol.messages import JsonObject

MAX_TEXT = 20_000  # characters of instructions
FOLDER_NAMES = ("${CLAUDE_SKILL_DIR}", "{baseDir}")  # of its own, in a public skill
OPTIONAL = frozenset({"keywords", "priority", "required_tools", "enabled"})  # blank: not given
MAX_ITEMS = 64  # keywords or required tools of one skill

SKILLS = "skill, skills, playbook, playbooks"
CHANGES = f"{SKILLS}, workflow, instructions, from now on"
NAME = "Lower case letters, digits and single hyphens."
FIELDS: dict[str, str | JsonObject] = {
    "name": NAME,
    "description": "What it does and when to use it, in one sentence.",
    "instructions": "The steps to follow, as numbered lines.",
    "keywords": WORDS
    | {"description": "Words in a message that activate it; without any it is only listed."},
    "priority": {"type": "number", "description": "Higher comes first when several match."},
    "required_tools": WORDS,
}


def _split_text_list(value: JsonValue) -> JsonValue:
    """Split a list that is written as text; None stays None, for no change."""
    return [*parse_words(value)] if isinstance(value, str) else value


Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Lines = Annotated[tuple[Line, ...], BeforeValidator(_split_text_list), Field(max_length=MAX_ITEMS)]
Keywords = Annotated[Lines, AfterValidator(lambda words: tuple(map(str.lower, words)))]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Description = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)
]
Instructions = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT)
]


class _NewSkill(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: Name
    description: Description
    instructions: Instructions
    keywords: Keywords = ()
    priority: float = Field(0, ge=-1000, le=1000)
    required_tools: Lines = ()


class _SkillChange(BaseModel):
    """The fields to change; null leaves a field as it is."""

    name: str
    description: Description | None = None
    instructions: Instructions | None = None
    keywords: Keywords | None = None
    priority: float | None = Field(None, ge=-1000, le=1000)
    required_tools: Lines | None = None
    enabled: bool | None = None


M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@plain_tool(
    "Read the instructions of one of the <available_skills> before using it, or a file of it.",
    {"name": "", "file": "Such as references/tasks.md; default: the instructions."},
    ["name"],
)
async def read_skill(context: ToolContext, arguments: JsonObject) -> str:
    name, file = read_text_argument(arguments, "name"), read_text_argument(arguments, "file")
    files, stored = await _list_known_skills(context)
    known = {item.name: item.instructions for item in stored if item.enabled}
    known |= {skill.name: skill.instructions for skill in files}  # a file wins
    if name not in known:
        raise ToolFailure(f"no skill {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
    folder = next((s.path.parent for s in files if s.name == name and s.path is not None), None)
    if not file:
        files_line = await _read_off_loop(context, _format_files_line, folder)
        whole = known[name] + files_line
        whole = (
            _insert_skill_folder(whole, folder, context.command_tool)
            if context.command_tool and folder is not None
            else whole
        )
        if any(skill.name == name for skill in files):
            return whole
        return mark_quoted_text(whole, (item.origin for item in stored if item.name == name))
    if folder is None:
        raise ToolFailure(f"the skill {name!r} has no bundled files; call without file")
    return await _read_off_loop(context, read_bundled, folder, file)


def _format_files_line(folder: Path | None) -> str:
    """Return a paragraph that lists a skill's bundled files; empty without any."""
    files = () if folder is None else list_bundled_files(folder)
    return f"\n\nBundled files (read one with file): {', '.join(files)}" if files else ""


def _insert_skill_folder(instructions: str, folder: Path, command_tool: str) -> str:
    """Return instructions with their folder, for an agent that can run a skill's scripts."""
    real = os.path.realpath(folder)
    for name in FOLDER_NAMES:
        instructions = instructions.replace(name, real)
    return (
        f"{instructions}\n\nThe folder of this skill is {real}; its relative paths begin there."
        f" {command_tool} can read and execute its files, and change none: call a script as"
        f" {real}/SCRIPT from the workspace, where output belongs."
    )


@plain_tool("List all skills and playbooks with their keywords.", {}, keywords=SKILLS)
async def list_skills(context: ToolContext, arguments: JsonObject) -> str:
    del arguments
    files, stored = await _list_known_skills(context)
    names = {skill.name for skill in files}
    lines = [_format_skill_line(s.name, s.description, s.keywords, "file") for s in files]
    for item in stored:
        state = "stored" if item.enabled else "stored, switched off"
        state = "stored, hidden by the file of this name" if item.name in names else state
        lines.append(_format_skill_line(item.name, item.description, item.keywords, state))
    shown = "\n".join(sorted(lines)) or "There are no skills."
    return mark_quoted_text(shown, (item.origin for item in stored))


@journal_tool(
    "Store a new skill or playbook: instructions for a kind of request.",
    FIELDS,
    ["name", "description", "instructions"],
    keywords=CHANGES,
    lasts=assume_lasting,
)
def store_skill(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    new = _validate_arguments(_NewSkill, arguments)
    if not _is_allowed(context.skills, new.name):
        raise ToolFailure('the agent\'s setting "skills" excludes this name; choose another')
    now, source = context.now, context.source
    fields = {**new.model_dump(), "source": source, "origin": context.origin}
    playbook = StoredPlaybook(id=0, enabled=True, created_at=now, **fields)
    try:
        playbook_changes.add_playbook(db, context.memory, playbook, context.now)
    except PlaybookError as error:
        raise ToolFailure(str(error)) from error
    return f"Stored the skill {new.name}; it is used from the next message on."


@journal_tool(
    "Change a stored skill or playbook, or switch it on or off.",
    {**FIELDS, "enabled": {"type": "boolean", "description": "false switches it off."}},
    ["name"],
    keywords=CHANGES,
    lasts=assume_lasting,
)
def update_skill(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    changed = _validate_arguments(_SkillChange, arguments)
    old = _require_stored_skill(db, context, changed.name)
    new = replace(
        old, **changed.model_dump(exclude_none=True), source=context.source, origin=context.origin
    )
    try:
        playbook_changes.update_playbook(db, context.memory, new, context.now)
    except PlaybookError as error:
        raise ToolFailure(str(error)) from error
    return f"Updated the skill {old.name}; the change applies from the next message on."


@journal_tool(
    "Delete a stored skill or playbook.",
    {"name": ""},
    ["name"],
    keywords=SKILLS,
    lasts=assume_lasting,
)
def delete_skill(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    old = _require_stored_skill(db, context, read_text_argument(arguments, "name"))
    try:
        playbook_changes.delete_playbook(db, context.memory, old.name)
    except PlaybookError as error:
        raise ToolFailure(str(error)) from error
    return f"Deleted the skill {old.name}."


async def _read_off_loop(context: ToolContext, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    try:
        return await context.off_loop(function, *arguments)
    except TimeoutError as error:
        raise ToolFailure(f"the skill files: {error}") from error


async def _list_known_skills(context: ToolContext) -> tuple[list[SkillFile], list[StoredPlaybook]]:
    """Return the skills of files and of the journal that the agent's globs permit."""
    files, _ = await _read_off_loop(context, scan_skills, context.skill_directories)
    stored = await context.store.transact(playbooks.list_playbooks, context.memory, context.skills)
    return [skill for skill in files if _is_allowed(context.skills, skill.name)], stored


def _require_stored_skill(db: Database, context: ToolContext, name: str) -> StoredPlaybook:
    found = playbooks.find_playbook(db, context.memory, name)
    if found is None:
        raise ToolFailure(f"no stored skill {name!r}; see list_skills (files cannot be changed)")
    return found


def _validate_arguments(model: type[M], arguments: JsonObject) -> M:
    try:
        return model.model_validate(
            {
                name: value
                for name, value in arguments.items()
                if not (name in OPTIONAL and is_blank(value))
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ToolFailure(f"{field}: {first['msg']}; correct it and call again") from error


def _is_allowed(globs: Sequence[str], name: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _format_skill_line(name: str, description: str, keywords: Sequence[str], state: str) -> str:
    when = f"; keywords: {', '.join(keywords)}" if keywords else ""
    return f"- {name} ({state}): {description}{when}"
