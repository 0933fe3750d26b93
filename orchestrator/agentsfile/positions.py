"""A JSON reader that records the line of every part, for error messages.

The standard decoder gives no positions, silently keeps the last of two equal keys and accepts NaN.
Only that decoder reads a text without such faults, until a line number is needed.
"""

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, TypeAlias

from pydantic import JsonValue

from orchestrator.errors import ConfigError

WHITE = frozenset(" \t\r\n")
MAX_DEPTH = 64  # agents.json needs 5; Python's recursion limit is 1000
MAX_VALUES = 50_000  # a thousand agents with forty fields; each takes 20 to 100 microseconds
WRONG_QUOTES = frozenset("'`\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb")
MAX_REPEATED = 100  # names; they are compared with every part of the file

JsonPath: TypeAlias = tuple[str | int, ...]


class JsonSyntaxError(ConfigError):
    """The text is not JSON; ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Document:
    """A JSON value, its text and the paths of keys repeated in one object."""

    value: JsonValue
    text: str
    repeated: tuple[JsonPath, ...] = ()

    @cached_property
    def lines(self) -> dict[JsonPath, int]:
        """The line number of each part, keyed by path."""
        reader = _Reader(self.text)
        reader.read_value(())
        return reader.lines

    def find_line(self, path: JsonPath) -> int:
        """Return the line of the part at ``path``, or of the innermost part that contains it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


def parse_json_document(text: str) -> Document:
    """Parse ``text`` as JSON.

    Raises:
        JsonSyntaxError: the text is not JSON; the message has the line and a correction.
    """
    if "\\u" not in text and sum(map(text.count, "[{,")) < MAX_VALUES:
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
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
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
        self.lines: dict[JsonPath, int] = {}
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
        if path not in self.lines:
            self.lines[path] = self._find_line(self.at)
        if len(self.lines) > MAX_VALUES:
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
            line = self._find_line(self.at)
            key = str(self._read_scalar('"'))
            inner = (*path, key)
            if key in members:
                if len(self.repeated) == MAX_REPEATED:
                    self.fail_at(
                        f"more than {MAX_REPEATED} names appear twice; is it the right file?"
                    )
                self.repeated.append(inner)
            self.lines[inner] = line
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
