"""Playbooks: instructions that join the prompt when a message contains one of their keywords."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Annotated, Literal

import ahocorasick_rs
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from thinker.formats.skill_file import MAX_KEYWORD, MAX_KEYWORDS, SkillFile
from thinker.protocol.messages import JsonObject, Origin

# A word character of a script with spaces between words. Left out are Thai to Khmer, kana, Han, and
# Hangul (particles join the word), where a word boundary would never be found.
WORD = re.compile(
    "[^\\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)


ANY = "*"  # in the name of a required tool
MAX_MATCHED_CHARACTERS = 8000  # of a message; keywords that begin alike multiply the hits


@dataclass(frozen=True)
class Playbook:
    """Instructions, their keywords in lower case, and a priority (high comes first)."""

    name: str
    description: str
    instructions: str
    keywords: tuple[str, ...]
    priority: float = 0
    required_tools: tuple[str, ...] = ()
    source: Literal["file", "database"] = "file"
    origin: Origin = "operator"


def build_playbook(skill: SkillFile) -> Playbook:
    """Return the playbook that a SKILL.md with keywords describes."""
    return Playbook(**skill.model_dump(include={field.name for field in fields(Playbook)}))


def _keep_texts(value: object) -> object:
    """Return a list without items other than strings, cut to the limits of a SKILL.md."""
    if not isinstance(value, list):
        return value
    return [item[:MAX_KEYWORD] for item in value if isinstance(item, str)][:MAX_KEYWORDS]


def _replace_non_number(value: object) -> object:
    """Return a priority, or 0 if it is not a number, as for a SKILL.md."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


Texts = Annotated[tuple[str, ...], BeforeValidator(_keep_texts)]


class _Trigger(BaseModel):
    keywords: Texts = Field(min_length=1)
    priority: Annotated[float, BeforeValidator(_replace_non_number)] = 0


class _Record(BaseModel):
    id: int = Field(gt=0)
    name: str = Field(min_length=1)
    description: str | None = None
    instructions: str = Field(min_length=1)
    trigger_config: _Trigger
    required_tools: Texts | None = None
    origin: Origin = "user"


def parse_record(record: JsonObject) -> Playbook | None:
    """Return the playbook in a journal record; None if the record is incomplete."""
    try:
        row = _Record.model_validate(record)
    except ValidationError:
        return None
    keywords = tuple(keyword.lower() for keyword in row.trigger_config.keywords)
    about, priority = row.description or "", row.trigger_config.priority
    tools = row.required_tools or ()
    text = row.instructions
    return Playbook(row.name, about, text, keywords, priority, tools, "database", row.origin)


def merge_playbooks(files: Sequence[SkillFile], records: Sequence[JsonObject]) -> list[Playbook]:
    """Return the playbooks of files and journal; a file wins over a record of the same name."""
    names = {skill.name for skill in files}
    found = [build_playbook(skill) for skill in files if skill.keywords and not skill.silent]
    parsed = (parse_record(record) for record in records)
    return found + [book for book in parsed if book is not None and book.name not in names]


def keep_usable(matched: Sequence[Playbook], tools: Collection[str]) -> tuple[Playbook, ...]:
    """Return the playbooks for which an agent with these tools has any of the tools they need.

    A name with ``*`` stands for all tools whose names fit, such as those of some MCP server. A file
    is always usable: its tools may be named as another program calls them.
    """
    return tuple(
        playbook
        for playbook in matched
        if playbook.source == "file" or _has_tools(playbook.required_tools, tools)
    )


def _has_tools(needed: Sequence[str], tools: Collection[str]) -> bool:
    plain = [name for name in needed if ANY not in name]
    patterns = [name for name in needed if ANY in name]
    found = any(fnmatchcase(tool.lower(), pattern) for pattern in patterns for tool in tools)
    return (found or not patterns) and (not plain or any(name in tools for name in plain))


def list_required_tools(matched: Sequence[Playbook]) -> dict[str, str]:
    """Return the tools that matched playbooks need, each with the first playbook that does."""
    needed: dict[str, str] = {}
    for playbook in matched:
        for tool in (name for name in playbook.required_tools if ANY not in name):
            needed.setdefault(tool, playbook.name)
    return needed


class Matcher:
    """Finds the playbooks of a message in one pass, however many keywords there are."""

    def __init__(self, playbooks: Sequence[Playbook]) -> None:
        # sorted() is stable: equal priorities keep the order given.
        self._playbooks = tuple(sorted(playbooks, key=lambda playbook: -playbook.priority))
        # The journal's own may be learned in chats, and are forgotten with them.
        files = [playbook for playbook in self._playbooks if playbook.source == "file"]
        self.keywords = {playbook.name: playbook.keywords for playbook in files}
        owners: dict[str, list[int]] = defaultdict(list)
        for position, playbook in enumerate(self._playbooks):
            for keyword in playbook.keywords:
                owners[keyword.lower()].append(position)
        # Every text contains the empty keyword, which the automaton does not accept.
        self._always = owners.pop("", [])
        self._owners = tuple(owners.values())
        self._bounded = tuple(bool(WORD.match(key[0]) and WORD.match(key[-1])) for key in owners)
        self._automaton = ahocorasick_rs.AhoCorasick(owners)

    def match(self, text: str) -> tuple[Playbook, ...]:
        """Return every playbook with a keyword in the text, highest priority first.

        A keyword that begins and ends with a word character matches only whole words; any other
        ("c++", ".net") matches anywhere. Case does not matter.
        """
        if not text:
            return ()
        lowered = text[:MAX_MATCHED_CHARACTERS].lower()
        hits = set(self._always)
        found = self._automaton.find_matches_as_indexes(lowered, overlapping=True)
        for keyword, start, end in found:
            if not self._bounded[keyword] or _is_whole_word(lowered, start, end):
                hits.update(self._owners[keyword])
        return tuple(self._playbooks[position] for position in sorted(hits))


def _is_whole_word(text: str, start: int, end: int) -> bool:
    before = start > 0 and WORD.match(text[start - 1])
    after = end < len(text) and WORD.match(text[end])
    return not before and not after
