"""Read SKILL.md files: the fields of agentskills.io, and additional fields in ``metadata``.

Workers read them for the prompt, the supervisor for the read_skill tool and for schedules. An
invalid file is reported and left out; the other skills stay usable.
"""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, ValidationError

from thinker.formats import plain_yaml, regular_file
from thinker.formats.plain_yaml import YamlError
from thinker.formats.regular_file import (
    CHANGED,
    SETTLED_NS,
    SIZE,
    FileError,
    FileMissingError,
    Folder,
    Identity,
    read_identity,
)
from thinker.formats.word_lists import parse_words
from thinker.protocol.chosen_folder import EVERY_SKILL, admits_name
from thinker.protocol.messages import Effort, Frozen, JsonObject

FILE_NAME = "SKILL.md"
MAX_BYTES = regular_file.SKILL.max_bytes
AS_WRITTEN = ("name", "description", "license", "compatibility")  # fields taken as they are
MAX_KEYWORDS, MAX_KEYWORD = 200, 100  # of a skill; characters
MAX_NAME = 64  # characters
MAX_DESCRIPTION = 4096  # characters; the format says 1024, but public skills have more
SILENT = "disable-model-invocation"  # as other programs call it
# Fields of the metadata that only this program has, and all fields that it reads.
OWN_FIELDS = frozenset(
    {"keywords", "required_tools", "trigger_config", "max_steps", "effort", "execution_plan"}
)
TRIGGER_FIELDS = frozenset({"schedule", "cron", "interval_minutes", "timezone", "notify_chat_id"})
KNOWN_METADATA = OWN_FIELDS | {"priority", "agent"}
# A skill is useful without these fields. Without its plan, a model would decide what runs.
IGNORABLE = frozenset({"license", "compatibility", "max_steps", "effort", "trigger_config"})
# the rule of agentskills.io: lower case letters, digits and single inner hyphens
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_TABS = re.compile(r"^[ \t]*\t[ \t]*(?=\S)", re.MULTILINE)
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
    that belong there: ``metadata.keywordz``, ``keywords``. ``notes`` say what is read otherwise
    than written, each with its field. A ``silent`` skill is in no prompt: it runs by schedule, or
    when a person names it.
    """

    name: str = Field(max_length=MAX_NAME)
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
    notes: tuple[tuple[str, str], ...] = ()
    silent: bool = False


@lru_cache(maxsize=256)
def parse_skill(text: str, directory_name: str, path: Path | None = None) -> SkillFile:
    """Parse the text of the SKILL.md in a directory of this name.

    Results are cached, and forked workers inherit the cache.

    Raises:
        SkillError: The text is not a skill.
    """
    file = str(path or f"{directory_name}/{FILE_NAME}")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        return _parse_skill_text(text, directory_name, path)
    except _Refusal as error:
        line = error.line or (_find_line(text, error.place) if error.place else 0)
        raise SkillError(SkillProblem(file, line, str(error))) from error
    except YamlError as error:
        raise SkillError(SkillProblem(file, error.line, error.reason)) from error


def scan_skills(
    directories: Sequence[Path],
    globs: tuple[str, ...] = (EVERY_SKILL,),
    now: int | None = None,
) -> tuple[tuple[SkillFile, ...], tuple[SkillProblem, ...]]:
    """Return the valid skills in the directories, sorted by name, and all problems.

    A skill of a later directory replaces one of the same name. Missing directories count as empty.
    Files of folders that no glob admits are not read: a worker may not. Nor is a file that has long
    been the same at ``now``, in nanoseconds, read again.
    """
    found: dict[str, SkillFile] = {}
    problems: list[SkillProblem] = []
    for directory in directories:
        for skill in _iter_skills(directory, globs, time.time_ns() if now is None else now):
            if isinstance(skill, SkillFile):
                found[skill.name] = skill
            else:
                problems.append(skill)
    return tuple(found[name] for name in sorted(found)), tuple(problems)


def _iter_skills(
    directory: Path, globs: tuple[str, ...], now: int
) -> Iterator[SkillFile | SkillProblem]:
    """Yield the valid skills in a directory, and the problems of the others."""
    folder = Folder(directory)
    try:
        names = folder.list_names()
    except FileError as error:
        yield SkillProblem(str(directory), 0, str(error))
        return
    if folder.left_out:
        yield SkillProblem(str(directory), 0, folder.left_out)
    for path in (directory / name / FILE_NAME for name in names if admits_name(globs, name)):
        identity = read_identity(path)
        if identity is None and not path.is_symlink():  # a file, or a folder of something else
            continue
        try:
            yield _load_skill(path, folder, identity, now)
        except FileMissingError:
            continue
        except FileError as error:
            yield SkillProblem(str(path), 0, str(error))


def _load_skill(
    path: Path, folder: Folder, identity: Identity | None, now: int
) -> SkillFile | SkillProblem:
    """Return a skill or its problem; a file that has not changed is not read again."""
    folder.take_room(0 if identity is None else identity[SIZE])
    if identity is None or identity[CHANGED] > now - SETTLED_NS:
        return _read_skill_file(path, folder.path)
    return _read_settled_skill(path, folder.path, identity)


@lru_cache(maxsize=4 * regular_file.MAX_ENTRIES)
def _read_settled_skill(path: Path, folder: Path, identity: Identity) -> SkillFile | SkillProblem:
    del identity  # part of the cache key
    return _read_skill_file(path, folder)


def _read_skill_file(path: Path, folder: Path) -> SkillFile | SkillProblem:
    if regular_file.resolve_inside(folder, path) is None:
        raise FileError(f"links to a file outside {folder}; copy the file into it")
    text = regular_file.read_text(path, regular_file.SKILL)
    try:
        return parse_skill(text, path.parent.name, path)
    except SkillError as error:
        return error.problem


def _parse_skill_text(text: str, directory_name: str, path: Path | None) -> SkillFile:
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise _Refusal(f"larger than {MAX_BYTES // 1024} KiB; move detail to other files")
    parts = plain_yaml.split_front_matter(text)
    if parts is None:
        advice = "begin with a line '---', the fields, a line '---'"
        raise _Refusal(f"no front matter; {advice}", line=1)
    notes: dict[str, str] = {}
    fields = _parse_fields(parts[0], notes)
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        notes["metadata"] = "'metadata' is no mapping and is ignored; indent its fields below it"
        metadata = {}
    allowed = _split_words(fields.get("allowed-tools"))
    priority = metadata.get("priority")
    misplaced = (name for name in fields if name in OWN_FIELDS | TRIGGER_FIELDS)
    unread = (*misplaced, *(f"metadata.{name}" for name in metadata if name not in KNOWN_METADATA))
    agent = metadata.get("agent")
    read: dict[str, object] = {
        **{key: fields.get(key) for key in AS_WRITTEN},
        **{key: metadata.get(key) for key in ("trigger_config", "max_steps", "effort")},
        "name": _choose_name(fields.get("name"), directory_name, notes),
        "description": _choose_description(fields.get("description"), notes),
        "agent": agent if isinstance(agent, str) else None,
        "allowed_tools": allowed,
        "instructions": parts[1].strip(),
        "keywords": _choose_keywords(metadata.get("keywords"), notes),
        # Files written for other programs may hold any priority.
        "priority": priority if type(priority) in (int, float) else 0,
        "required_tools": _split_words(metadata.get("required_tools")) or allowed,
        "execution_plan": metadata.get("execution_plan") or (),
        "path": path,
        "unread": unread,
        "silent": fields.get(SILENT) in (True, "true"),
    }
    while True:
        try:
            return SkillFile.model_validate({**read, "notes": notes.items()})
        except ValidationError as error:
            first = error.errors()[0]
            top = str(first["loc"][0])
            if top in IGNORABLE:
                notes[top] = f"'{top}' is ignored: {first['msg']}; correct or remove it"
                del read[top]
                continue
            field = ".".join(str(part) for part in first["loc"])
            place = ("metadata", *first["loc"]) if top in KNOWN_METADATA else first["loc"]
            problem = f"field {field!r}: {first['msg']}; correct or remove it"
            if first["input"] is None:
                problem = f"the field {field!r} is missing; add it"
            raise _Refusal(problem, *place) from error


def _choose_name(name: JsonValue, directory_name: str, notes: dict[str, str]) -> str:
    """Return the directory's name, in the letters of the format; the format wants both alike."""
    usable = re.sub(r"[^a-z0-9]+", "-", directory_name.lower()).strip("-")[:MAX_NAME].strip("-")
    if not usable:
        rule = "'name' must be lower case letters, digits and single hyphens"
        raise _Refusal(f"{rule}; give the directory such a name", "name")
    if usable != directory_name:
        advice = f"give its directory this name, and set name: {usable}"
        notes["name"] = f"it is called {usable!r}; {advice}"
    elif name != usable:
        notes["name"] = f"it is called {usable!r} after its directory; set name: {usable}"
    return usable


def _choose_description(written: JsonValue, notes: dict[str, str]) -> str | None:
    """Return the description, shortened if it is too long, or None if there is none."""
    text = str(written).strip() if isinstance(written, str | int | float) else ""
    if len(text) > MAX_DESCRIPTION:
        notes["description"] = f"only the first {MAX_DESCRIPTION} characters of it are shown"
    return text[:MAX_DESCRIPTION] or None


def _choose_keywords(written: JsonValue, notes: dict[str, str]) -> list[str]:
    words = [word.lower() for word in parse_words(written)]
    kept = [word for word in words if len(word) <= MAX_KEYWORD][:MAX_KEYWORDS]
    if left := len(words) - len(kept):
        most = f"write at most {MAX_KEYWORDS}, each of at most {MAX_KEYWORD} characters"
        notes["keywords"] = f"{left} of its keywords are left out; {most}"
    return kept


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


def _parse_fields(text: str, notes: dict[str, str]) -> JsonObject:
    """Return the fields of a front matter; prose with a colon needs no quotes."""
    if _TABS.search(text):
        notes["metadata"] = "tabs in the front matter are read as two spaces; indent with spaces"
        text = _TABS.sub(lambda found: found[0].expandtabs(2), text)
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
