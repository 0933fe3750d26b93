"""Change the text of an agents.json; all that is not changed stays as its author wrote it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from orchestrator.agentsfile.positions import JsonPath

SPACE = " \t\r\n"


@dataclass
class _Layout:
    """Where each value of a text begins and ends, and where its member begins, with its name."""

    text: str
    values: dict[JsonPath, tuple[int, int]] = field(default_factory=dict)
    members: dict[JsonPath, int] = field(default_factory=dict)

    def read(self, at: int, path: JsonPath) -> int:
        """Note the value at a position and all in it; return its end."""
        start = at = self._skip(at)
        if self.text[at] in "{[":
            at = self._skip(at + 1)
            number = 0
            while self.text[at] not in "}]":
                begin = at
                key: str | int = number
                if self.text[start] == "{":
                    key, at = json.JSONDecoder().raw_decode(self.text, at)
                    at = self._skip(at) + 1  # the colon
                inner = (*path, key)
                self.members[inner] = begin
                at = self._skip(self.read(at, inner))
                if self.text[at] == ",":
                    at = self._skip(at + 1)
                number += 1
            at += 1
        else:
            _, at = json.JSONDecoder().raw_decode(self.text, at)
        self.values[path] = start, at
        return at

    def _skip(self, at: int) -> int:
        while self.text[at] in SPACE:
            at += 1
        return at


def with_value(text: str, path: Sequence[str | int], value: JsonValue) -> str:
    """Return a JSON text in which the part at ``path`` has this value.

    What leads to it is made if it is missing. In a list, the number after the last one adds an
    item. ``text`` is valid JSON.
    """
    path = tuple(path)
    layout = _Layout(text)
    layout.read(0, ())
    if path in layout.values:
        start, end = layout.values[path]
        return text[:start] + _written(value) + text[end:]
    parent = path[:-1]
    if parent not in layout.values:
        holder: JsonValue = [value] if isinstance(path[-1], int) else {path[-1]: value}
        return with_value(text, parent, holder)
    start, end = layout.values[parent]
    name = "" if isinstance(path[-1], int) else f"{json.dumps(path[-1])}: "
    fresh = name + _written(value)
    others = [place for place in layout.members if place[:-1] == parent]
    if not others:
        return f"{text[: start + 1]}{fresh}{text[end - 1 :]}"
    before = text[start + 1 : layout.members[others[0]]]  # the layout between two members
    last = layout.values[others[-1]][1]
    return f"{text[:last]},{before if before.strip(' ') else ' '}{fresh}{text[last:]}"


def _written(value: JsonValue) -> str:
    """Return a value on one line, with the spaces that people write."""
    if isinstance(value, dict) and value:
        members = (f"{json.dumps(key)}: {_written(item)}" for key, item in value.items())
        return f"{{ {', '.join(members)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(value, ensure_ascii=False)
