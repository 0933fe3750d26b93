"""Read SKILL.md files: the fields of agentskills.io, and a ``metadata`` block of our own.

Workers read them for the prompt, the supervisor for the read_skill tool and for schedules. An
invalid file is reported and left out; the other skills stay usable.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from thinker.formats import plain_yaml, regular_file
from thinker.formats.plain_yaml import YamlError
from thinker.formats.regular_file import FileError, FileMissingError, Folder
from thinker.formats.word_lists import words
from thinker.protocol.messages import Frozen, JsonObject

FILE_NAME = "SKILL.md"
MAX_BYTES = regular_file.SKILL.max_bytes
AS_WRITTEN = ("name", "description", "license", "compatibility")  # fields taken as they are
# the rule of agentskills.io: lower case letters, digits and single inner hyphens
MAX_KEYWORDS, MAX_KEYWORD = 200, 100  # of a skill; characters
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
UNQUOTED = re.compile(  # prose, with the indented lines below it
    r"^(description|license|compatibility):[ \t]+([^\s'\"|>\[{&*!%@`#].*(?:\n[ \t]+\S.*)*)",
    re.MULTILINE,
)


Keyword = Annotated[str, Field(max_length=MAX_KEYWORD)]


class SkillError(Exception):
    """A SKILL.md cannot be used; the message names the file, the problem and the correction."""


class SkillFile(Frozen):
    """A skill. ``keywords`` are lower case; a skill without keywords is only listed."""

    name: str = Field(max_length=64)
    description: str = Field(pattern=r"\S", max_length=1024)
    license: str | None = None
    compatibility: str | None = Field(None, max_length=500)
    allowed_tools: tuple[str, ...] = ()
    instructions: str
    keywords: tuple[Keyword, ...] = Field((), max_length=MAX_KEYWORDS)
    priority: float = 0
    required_tools: tuple[str, ...] = ()
    trigger_config: JsonObject | None = None
    max_steps: int | None = Field(None, ge=1, le=50)
    execution_plan: tuple[JsonObject, ...] = ()
    path: Path | None = None


@lru_cache(maxsize=256)
def parse(text: str, directory_name: str, path: Path | None = None) -> SkillFile:
    """Parse the text of the SKILL.md in a directory of this name.

    Results are cached, and forked workers inherit the cache.

    Raises:
        SkillError: The text is not a skill, or its name is not the directory's name.
    """
    try:
        return _parsed(text, directory_name, path)
    except (SkillError, YamlError) as error:
        raise SkillError(f"{path or f'{directory_name}/{FILE_NAME}'}: {error}") from error


def scan(directories: Sequence[Path]) -> tuple[tuple[SkillFile, ...], tuple[str, ...]]:
    """Return the valid skills in the directories, sorted by name, and the problems of the others.

    A skill of a later directory replaces one of the same name. Missing directories count as empty.
    """
    found: dict[str, SkillFile] = {}
    problems: list[str] = []
    for directory in directories:
        for skill in _skills(directory):
            if isinstance(skill, SkillFile):
                found[skill.name] = skill
            else:
                problems.append(str(skill))
    return tuple(found[name] for name in sorted(found)), tuple(problems)


def _skills(directory: Path) -> Iterator[SkillFile | SkillError]:
    """Yield the skills in a directory, or what is wrong with them."""
    folder = Folder(directory)
    try:
        names = folder.names()
    except FileError as error:
        yield SkillError(f"{directory}: {error}")
        return
    for path in (directory / name / FILE_NAME for name in names):
        try:
            yield parse(_text(path, folder), path.parent.name, path)
        except FileMissingError:  # another file, or a folder of something else
            continue
        except FileError as error:
            yield SkillError(f"{path}: {error}")
        except SkillError as error:
            yield error


def _text(path: Path, folder: Folder) -> str:
    if regular_file.inside(folder.path, path) is None:
        raise FileError(f"links to a file outside {folder.path}; copy the file into it")
    return folder.read_text(path, regular_file.SKILL)


def _parsed(text: str, directory_name: str, path: Path | None) -> SkillFile:
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise SkillError(f"larger than {MAX_BYTES // 1024} KiB; move detail to other files")
    parts = plain_yaml.front_matter(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if parts is None:
        raise SkillError("no front matter; begin with a line '---', the fields, a line '---'")
    fields = _fields(parts[0])
    name = fields.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        rule = "'name' must be lower case letters, digits and single hyphens"
        raise SkillError(f"{rule}; set name: {directory_name}")
    if name != directory_name:
        advice = f"set name: {directory_name} or rename the directory"
        raise SkillError(f"name {name!r} is not the directory's name; {advice}")
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise SkillError("'metadata' must be a mapping; indent its fields below it")
    allowed = _words(fields.get("allowed-tools"))
    priority = metadata.get("priority")
    try:
        return SkillFile.model_validate(
            {
                **{key: fields.get(key) for key in AS_WRITTEN},
                **{key: metadata.get(key) for key in ("trigger_config", "max_steps")},
                "allowed_tools": allowed,
                "instructions": parts[1].strip(),
                "keywords": [word.lower() for word in words(metadata.get("keywords"))],
                # Files written for other programs may hold any priority.
                "priority": priority if type(priority) in (int, float) else 0,
                "required_tools": _words(metadata.get("required_tools")) or allowed,
                "execution_plan": metadata.get("execution_plan") or (),
                "path": path,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise SkillError(f"field {field!r}: {first['msg']}; correct or remove it") from error


def _fields(text: str) -> JsonObject:
    """Return the fields of a front matter; prose with a colon may lack the quotes it needs."""
    try:
        return plain_yaml.load(text, "the front matter", first_line=2)
    except YamlError:
        # Many public skills have such a description, which other programs accept.
        quoted = UNQUOTED.sub(_quoted, text)
        with suppress(YamlError):
            return plain_yaml.load(quoted, "the front matter", first_line=2)
        raise


def _quoted(field: re.Match[str]) -> str:
    value = field[2].rstrip().replace("'", "''")
    return f"{field[1]}: '{value}'"


def _words(value: object) -> list[str]:
    """Return the strings of a list, or the words of a string."""
    spaced = isinstance(value, str) and not value.lstrip().startswith("[")
    return words(str(value).replace(" ", ",") if spaced else value)
