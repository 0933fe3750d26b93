"""A JSON reader that finds the line of any part, for error messages.

The standard decoder gives no positions, silently keeps the last of two equal keys and accepts NaN.
Only that decoder reads a text without such faults.
"""

import json
import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn, TypeAlias

from pydantic import JsonValue

from orchestrator.errors import ConfigError

WHITE = frozenset(" \t\r\n")
SPACE = re.compile(r"[ \t\r\n]*")
MAX_DEPTH = 64  # agents.json needs 5; Python's recursion limit is 1000
MAX_VALUES = 500_000  # ten thousand agents with forty fields
WRONG_QUOTES = frozenset("'`\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb")
MAX_REPEATED = 100  # names; they are compared with every part of the file

JsonPath: TypeAlias = tuple[str | int, ...]
Members: TypeAlias = dict[str | int, tuple[int, int]]


class JsonSyntaxError(ConfigError):
    """The text is not JSON; ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Document:
    """A JSON value, its valid text and the paths of keys repeated in one object."""

    value: JsonValue
    text: str
    repeated: tuple[JsonPath, ...] = ()

    _members: dict[JsonPath, Members] = field(default_factory=dict, compare=False, repr=False)

    def find_line(self, path: JsonPath) -> int:
        """Return the line of the part at ``path``, or of the innermost part that contains it."""
        place, _ = self._find_place(path)
        return bisect_left(self._newlines, place) + 1

    def has_part(self, path: JsonPath) -> bool:
        """Return whether the text has a part at ``path``."""
        return self._find_place(path)[1] == len(path)

    def _find_place(self, path: JsonPath) -> tuple[int, int]:
        """Return where a part begins, a member with its name, and how many steps lead there."""
        place, value = 0, _skip_white(self.text, 0)
        for depth, step in enumerate(path):
            above = path[:depth]
            if above not in self._members:
                self._members[above] = dict(find_members(self.text, value))
            if step not in self._members[above]:
                return place, depth
            place, value = self._members[above][step]
        return place, len(path)

    @cached_property
    def _newlines(self) -> Sequence[int]:
        return array("L", (found.start() for found in re.finditer("\n", self.text)))


def _skip_white(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return at if found is None else found.end()


def find_members(text: str, at: int) -> Iterator[tuple[str | int, tuple[int, int]]]:
    """Yield the names or numbers in the valid JSON value at ``at``, with where each begins.

    Where a member begins differs from where its value does. The values themselves are skipped at
    the speed of the standard decoder.
    """
    if text[at : at + 1] not in ("{", "["):
        return
    decode, number = json.JSONDecoder().raw_decode, 0
    place = _skip_white(text, at + 1)
    while text[place] not in "}]":
        step: str | int = number
        value = place
        if text[at] == "{":
            step, end = decode(text, place)
            value = _skip_white(text, _skip_white(text, end) + 1)
        yield step, (place, value)
        end = _skip_white(text, decode(text, value)[1])
        place = _skip_white(text, end + 1) if text[end] == "," else end
        number += 1


def parse_json_document(text: str) -> Document:
    """Parse ``text`` as JSON.

    Raises:
        JsonSyntaxError: the text is not JSON; the message has the line and a correction.
    """
    if sum(map(text.count, "[{,")) < MAX_VALUES:
        with suppress(ValueError, RecursionError):  # the reader gives the exact error
            return Document(_decode_json(text), text)
    reader = _Reader(text)
    value = reader.read_value(())
    if reader.peek():
        reader.fail_at("something follows the end of the file's value; remove it")
    return Document(value, text, tuple(reader.repeated))


def _decode_json(text: str) -> JsonValue:
    """Decode ``text``; raise `ValueError` where the reader can give a better error."""
    value: JsonValue = json.loads(
        text,
        object_pairs_hook=_require_unique_keys,
        parse_float=_require_finite,
        parse_constant=_require_finite,
    )
    level: list[list[JsonValue] | dict[str, JsonValue]] = [[value]]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            if "\\u" in text:  # it may stand for half of a surrogate pair
                json.dumps(value, ensure_ascii=False).encode()
            return value
    raise ValueError(text)


def _require_unique_keys(members: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    if len(found := dict(members)) < len(members):
        raise ValueError(members)
    return found


def _require_finite(number: str) -> float:
    if not math.isfinite(value := float(number)):
        raise ValueError(number)
    return value


class _Reader:
    """A recursive-descent parser of one JSON text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._values = 0  # read so far
        self.repeated: list[JsonPath] = []
        self._newlines = [found.start() for found in re.finditer("\n", text)]
        self._decoder = json.JSONDecoder()

    def fail_at(self, message: str, at: int | None = None) -> NoReturn:
        raise JsonSyntaxError(self._find_line(self.at if at is None else at), message)

    def peek(self) -> str:
        """Skip white space and return the next character, empty at the end."""
        while (char := self.text[self.at : self.at + 1]) in WHITE:
            self.at += 1
        if char in {"#", "/"}:
            self.fail_at("JSON has no comments; remove this one")
        return char

    def read_value(self, path: JsonPath) -> JsonValue:
        char = self.peek()
        self._values += 1
        if self._values > MAX_VALUES:
            self.fail_at(f"more than {MAX_VALUES} values; is it the right file?")
        if len(path) > MAX_DEPTH:
            self.fail_at(f"nested more than {MAX_DEPTH} levels deep; make it flatter")
        if char == "{":
            return self._read_object(path)
        if char == "[":
            return [
                self.read_value((*path, number)) for number, _ in enumerate(self._read_items("]"))
            ]
        return self._read_scalar(char)

    def _find_line(self, at: int) -> int:
        return bisect_left(self._newlines, at) + 1

    def _read_items(self, close: str) -> Iterator[None]:
        """Yield at the start of each item of a list or object; consume commas and brackets."""
        self.at += 1
        if self.peek() == close:
            self.at += 1
            return
        while True:
            yield
            char = self.peek()
            if char not in {",", close} or not char:
                self.fail_at(f'expected "," or "{close}" before this')
            self.at += 1
            if char == close:
                return
            if self.peek() == close:
                self.fail_at(f'remove the comma before "{close}"')

    def _read_object(self, path: JsonPath) -> JsonValue:
        members: dict[str, JsonValue] = {}
        for _ in self._read_items("}"):
            char = self.peek()
            if char in WRONG_QUOTES:
                self._read_scalar(char)
            if char != '"':
                self.fail_at("expected a name in double quotes here")
            key = str(self._read_scalar('"'))
            inner = (*path, key)
            if key in members:
                if len(self.repeated) == MAX_REPEATED:
                    self.fail_at(
                        f"more than {MAX_REPEATED} names appear twice; is it the right file?"
                    )
                self.repeated.append(inner)
            if self.peek() != ":":
                self.fail_at(f'expected ":" after "{key}"')
            self.at += 1
            members[key] = self.read_value(inner)
        return members

    def _read_scalar(self, char: str) -> JsonValue:
        start = self.at
        if char in WRONG_QUOTES:
            self.fail_at(f'use straight double quotes for text: " in place of {char}')
        if not char:
            self.fail_at("the file ends too early; a value or a closing bracket is missing")
        try:
            value: JsonValue
            value, self.at = self._decoder.raw_decode(self.text, start)
            str(value).encode()
        except json.JSONDecodeError as error:
            if error.msg.startswith("Invalid control character"):
                self.fail_at(
                    "text must end on the line where it starts; write a break as \\n", start
                )
            detail = "" if error.msg.startswith("Expecting value") else f" ({error.msg})"
            self.fail_at(f"not a valid JSON value{detail}", error.pos)
        except UnicodeEncodeError:
            self.fail_at("text holds half of a surrogate pair; write the whole character", start)
        except ValueError:
            self.fail_at("the number is too long", start)
        if isinstance(value, float) and not math.isfinite(value):
            self.fail_at("not a finite number; write a smaller one", start)
        return value
