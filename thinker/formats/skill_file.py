"""Read SKILL.md files: the fields of agentskills.io, and additional fields in ``metadata``.

Workers read them for the prompt, the supervisor for the read_skill tool and for schedules. An
invalid file is reported and left out; the other skills stay usable.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, ValidationError

from thinker.formats import plain_yaml, regular_file
from thinker.formats.plain_yaml import YamlError
from thinker.formats.regular_file import FileError, FileMissingError, Folder
from thinker.formats.word_lists import parse_words
from thinker.protocol.chosen_folder import EVERY_SKILL, admits_name
from thinker.protocol.messages import Effort, Frozen, JsonObject

FILE_NAME = "SKILL.md"
MAX_BYTES = regular_file.SKILL.max_bytes
AS_WRITTEN = ("name", "description", "license", "compatibility")  # fields taken as they are
MAX_KEYWORDS, MAX_KEYWORD = 200, 100  # of a skill; characters
MAX_DESCRIPTION = 4096  # characters; the format says 1024, but public skills have more
# Fields of the metadata that only this program has, and all fields that it reads.
OWN_FIELDS = frozenset(
    {"keywords", "required_tools", "trigger_config", "max_steps", "effort", "execution_plan"}
)
TRIGGER_FIELDS = frozenset({"schedule", "cron", "interval_minutes", "timezone", "notify_chat_id"})
KNOWN_METADATA = OWN_FIELDS | {"priority", "agent"}
# the rule of agentskills.io: lower case letters, digits and single inner hyphens
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
UNQUOTED = re.compile(  # prose, with the indented lines below it
    r"^(description|license|compatibility):[ \t]+([^\s'\"|>\[{&*!%@`#].*(?:\n[ \t]+\S.*)*)",
    re.MULTILINE,
)


Keyword = Annotated[str, Field(max_length=MAX_KEYWORD)]


@dataclass(frozen=True)
class SkillProblem:
    """The reason why a SKILL.md or a folder of skills is not used; ``line`` 0 means all of it."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        """Return ``skills/tea/SKILL.md:3: …``; the message says how to correct the file."""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.message}"


class SkillError(Exception):
    """A SKILL.md cannot be used; ``problem`` says why."""

    def __init__(self, problem: SkillProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _Refusal(Exception):  # noqa: N818 - becomes a `SkillError` with the file's name
    """A mistake at ``place`` in the fields, or in ``line`` of the file."""

    def __init__(self, message: str, *place: str | int, line: int = 0) -> None:
        super().__init__(message)
        self.place = place
        self.line = line


class SkillFile(Frozen):
    """A skill. ``keywords`` are lower case; a skill without keywords is only listed.

    ``agent`` runs the schedule. ``unread`` are unknown fields of the metadata, and fields outside
    that belong there: ``metadata.keywordz``, ``keywords``.
    """

    name: str = Field(max_length=64)
    description: str = Field(pattern=r"\S", max_length=MAX_DESCRIPTION)
    license: str | None = None
    compatibility: str | None = Field(None, max_length=500)
    allowed_tools: tuple[str, ...] = ()
    instructions: str
    keywords: tuple[Keyword, ...] = Field((), max_length=MAX_KEYWORDS)
    priority: float = 0
    required_tools: tuple[str, ...] = ()
    trigger_config: JsonObject | None = None
    max_steps: int | None = Field(None, ge=1, le=50)
    effort: Effort | None = None
    execution_plan: tuple[JsonObject, ...] = ()
    agent: str | None = None
    path: Path | None = None
    unread: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def parse_skill(text: str, directory_name: str, path: Path | None = None) -> SkillFile:
    """Parse the text of the SKILL.md in a directory of this name.

    Results are cached, and forked workers inherit the cache.

    Raises:
        SkillError: The text is not a skill, or its name is not the directory's name.
    """
    file = str(path or f"{directory_name}/{FILE_NAME}")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        return _parse_skill_text(text, directory_name, path)
    except _Refusal as error:
        line = error.line or (_find_line(text, error.place) if error.place else 0)
        raise SkillError(SkillProblem(file, line, str(error))) from error
    except YamlError as error:
        raise SkillError(SkillProblem(file, error.line, error.reason)) from error


def scan_skills(
    directories: Sequence[Path], globs: tuple[str, ...] = (EVERY_SKILL,)
) -> tuple[tuple[SkillFile, ...], tuple[SkillProblem, ...]]:
    """Return the valid skills in the directories, sorted by name, and all problems.

    A skill of a later directory replaces one of the same name. Missing directories count as empty.
    Files of folders that no glob admits are not read: a worker may not.
    """
    found: dict[str, SkillFile] = {}
    problems: list[SkillProblem] = []
    for directory in directories:
        for skill in _iter_skills(directory, globs):
            if isinstance(skill, SkillFile):
                found[skill.name] = skill
            else:
                problems.append(skill)
    return tuple(found[name] for name in sorted(found)), tuple(problems)


def _iter_skills(directory: Path, globs: tuple[str, ...]) -> Iterator[SkillFile | SkillProblem]:
    """Yield the valid skills in a directory, and the problems of the others."""
    folder = Folder(directory)
    try:
        names = folder.list_names()
    except FileError as error:
        yield SkillProblem(str(directory), 0, str(error))
        return
    for path in (directory / name / FILE_NAME for name in names if admits_name(globs, name)):
        try:
            yield parse_skill(_read_skill_text(path, folder), path.parent.name, path)
        except FileMissingError:  # another file, or a folder of something else
            continue
        except FileError as error:
            yield SkillProblem(str(path), 0, str(error))
        except SkillError as error:
            yield error.problem


def _read_skill_text(path: Path, folder: Folder) -> str:
    if regular_file.resolve_inside(folder.path, path) is None:
        raise FileError(f"links to a file outside {folder.path}; copy the file into it")
    return folder.read_text(path, regular_file.SKILL)


def _parse_skill_text(text: str, directory_name: str, path: Path | None) -> SkillFile:
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise _Refusal(f"larger than {MAX_BYTES // 1024} KiB; move detail to other files")
    parts = plain_yaml.split_front_matter(text)
    if parts is None:
        advice = "begin with a line '---', the fields, a line '---'"
        raise _Refusal(f"no front matter; {advice}", line=1)
    fields = _parse_fields(parts[0])
    _require_valid_name(fields.get("name"), directory_name)
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise _Refusal("'metadata' must be a mapping; indent its fields below it", "metadata")
    allowed = _split_words(fields.get("allowed-tools"))
    priority = metadata.get("priority")
    misplaced = (name for name in fields if name in OWN_FIELDS | TRIGGER_FIELDS)
    unread = (*misplaced, *(f"metadata.{name}" for name in metadata if name not in KNOWN_METADATA))
    agent = metadata.get("agent")
    try:
        return SkillFile.model_validate(
            {
                **{key: fields.get(key) for key in AS_WRITTEN},
                **{key: metadata.get(key) for key in ("trigger_config", "max_steps", "effort")},
                "agent": agent if isinstance(agent, str) else None,
                "allowed_tools": allowed,
                "instructions": parts[1].strip(),
                "keywords": [word.lower() for word in parse_words(metadata.get("keywords"))],
                # Files written for other programs may hold any priority.
                "priority": priority if type(priority) in (int, float) else 0,
                "required_tools": _split_words(metadata.get("required_tools")) or allowed,
                "execution_plan": metadata.get("execution_plan") or (),
                "path": path,
                "unread": unread,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        place = ("metadata", *first["loc"]) if first["loc"][0] in KNOWN_METADATA else first["loc"]
        if first["input"] is None:
            raise _Refusal(f"the field {field!r} is missing; add it", *place) from error
        raise _Refusal(f"field {field!r}: {first['msg']}; correct or remove it", *place) from error


def _require_valid_name(name: JsonValue, directory_name: str) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        rule = "'name' must be lower case letters, digits and single hyphens"
        advice = f"set name: {directory_name}"
        if not NAME.fullmatch(directory_name):
            advice = "set such a name, and give the directory the same"
        raise _Refusal(f"{rule}; {advice}", "name")
    if name != directory_name:
        advice = f"set name: {directory_name} or rename the directory"
        raise _Refusal(f"name {name!r} is not the directory's name; {advice}", "name")


def find_field_line(skill: SkillFile, place: Sequence[str | int]) -> int:
    """Return the line of a field of a skill's file; 0 if the file cannot be read any more."""
    if skill.path is None:
        return 0
    try:
        return _find_line(regular_file.read_text(skill.path, regular_file.SKILL), place)
    except FileError:
        return 0


def _find_line(text: str, place: Sequence[str | int]) -> int:
    """Return the line of a field of the front matter."""
    parts = plain_yaml.split_front_matter(text)
    begin = text.index("---")
    first = text.count("\n", 0, begin) + 2
    return plain_yaml.find_line(parts[0], place, first) if parts is not None else first


def _parse_fields(text: str) -> JsonObject:
    """Return the fields of a front matter; prose with a colon needs no quotes."""
    try:
        return plain_yaml.parse_mapping(text, "the front matter", first_line=2)
    except YamlError:
        # Many public skills have such a description, which other programs accept.
        quoted = UNQUOTED.sub(_quote_field, text)
        with suppress(YamlError):
            return plain_yaml.parse_mapping(quoted, "the front matter", first_line=2)
        raise


def _quote_field(field: re.Match[str]) -> str:
    value = field[2].rstrip().replace("'", "''")
    return f"{field[1]}: '{value}'"


def _split_words(value: object) -> list[str]:
    """Return the strings of a list, or the words of a string."""
    spaced = isinstance(value, str) and not value.lstrip().startswith("[")
    return parse_words(str(value).replace(" ", ",") if spaced else value)
