"""Edit the text of an agents.json; everything else stays as its author wrote it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from pydantic import JsonValue

from orchestrator.agentsfile.positions import JsonPath

SPACE = " \t\r\n"


@dataclass
class JsonLayout:
    """The start and end of each value of a JSON text, and of its member with the name."""

    text: str
    values: dict[JsonPath, tuple[int, int]] = field(default_factory=dict)
    members: dict[JsonPath, int] = field(default_factory=dict)

    @classmethod
    def read_text(cls, text: str) -> Self:
        """Read the layout of valid JSON text."""
        layout = cls(text)
        layout.read_value(0, ())
        return layout

    def read_value(self, at: int, path: JsonPath) -> int:
        """Note the span of a value and its parts; return its end."""
        start = at = self._skip_space(at)
        if self.text[at] in "{[":
            at = self._skip_space(at + 1)
            number = 0
            while self.text[at] not in "}]":
                begin = at
                key: str | int = number
                if self.text[start] == "{":
                    key, at = json.JSONDecoder().raw_decode(self.text, at)
                    at = self._skip_space(at) + 1  # the colon
                inner = (*path, key)
                self.members[inner] = begin
                at = self._skip_space(self.read_value(at, inner))
                if self.text[at] == ",":
                    at = self._skip_space(at + 1)
                number += 1
            at += 1
        else:
            _, at = json.JSONDecoder().raw_decode(self.text, at)
        self.values[path] = start, at
        return at

    def _skip_space(self, at: int) -> int:
        while self.text[at] in SPACE:
            at += 1
        return at


def replace_value(text: str, path: Sequence[str | int], value: JsonValue) -> str:
    """Return JSON text in which the part at ``path`` has this value.

    Missing parents are created. In a list, the index after the last one appends an item. ``text``
    is valid JSON.
    """
    path = tuple(path)
    layout = JsonLayout.read_text(text)
    if path in layout.values:
        start, end = layout.values[path]
        return text[:start] + _format_on_one_line(value) + text[end:]
    parent = path[:-1]
    if parent not in layout.values:
        holder: JsonValue = [value] if isinstance(path[-1], int) else {path[-1]: value}
        return replace_value(text, parent, holder)
    start, end = layout.values[parent]
    name = "" if isinstance(path[-1], int) else f"{json.dumps(path[-1])}: "
    fresh = name + _format_on_one_line(value)
    others = [place for place in layout.members if place[:-1] == parent]
    if not others:
        return f"{text[: start + 1]}{fresh}{text[end - 1 :]}"
    before = text[start + 1 : layout.members[others[0]]]  # the layout between two members
    last = layout.values[others[-1]][1]
    return f"{text[:last]},{before if before.strip(' ') else ' '}{fresh}{text[last:]}"


def remove_value(text: str, path: Sequence[str | int]) -> str:
    """Return JSON text without the part at ``path``; a missing part, or the whole, stays."""
    path = tuple(path)
    layout = JsonLayout.read_text(text)
    if path not in layout.members:
        return text
    siblings = [place for place in layout.members if place[:-1] == path[:-1]]
    number = siblings.index(path)
    start, end = layout.members[path], layout.values[path][1]
    if number:
        start = layout.values[siblings[number - 1]][1]
    elif len(siblings) > 1:
        end = layout.members[siblings[1]]
    else:
        start, end = layout.values[path[:-1]]
        start, end = start + 1, end - 1
    return text[:start] + text[end:]


def _format_on_one_line(value: JsonValue) -> str:
    """Format a value on one line, with conventional spaces."""
    if isinstance(value, dict) and value:
        members = (f"{json.dumps(key)}: {_format_on_one_line(item)}" for key, item in value.items())
        return f"{{ {', '.join(members)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_on_one_line, value))}]"
    return json.dumps(value, ensure_ascii=False)
