"""Parse JSON as models write it: JSON5, and line breaks inside strings.

The cost is linear in the length of the text, whatever it contains.
"""

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import JsonValue

MAX_DEPTH = 64  # far deeper than any answer; code that validates or writes values recurses
MAX_WORD = 400  # characters of a number or an unquoted key
SKIP = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|/\*.*?(?:\*/|\Z))+", re.DOTALL)
REMAINDER = re.compile(r"(?:[\s\ufeff]++|//[^\n\r]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/)*", re.DOTALL)
WORD = re.compile(r"[^\s\ufeff{}\[\],:\"'/]+")
KEY = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
HEX = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]+)")
RUN = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
PAIR_LENGTH = len(r"\ud83d\ude00")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[^ux]))", re.DOTALL)
ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
ESCAPED |= dict.fromkeys(("\n", "\r", "\r\n", "\u2028", "\u2029"), "")
Expected: TypeAlias = Literal["value", "key", "colon", "comma"]
LITERALS: dict[str, JsonValue] = {"true": True, "false": False, "null": None}


class AnswerSyntaxError(ValueError):
    """The text is not JSON5; the message names the problem and the offset in characters."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"{problem} at character {position}")


def parse_json5(text: str) -> JsonValue:
    """Parse a string that is one complete JSON5 value.

    Raises:
        AnswerSyntaxError: The text is not JSON5, is cut off, or continues after the value.
    """
    reader = _Reader(text)
    end = reader.read()
    if not reader.done or not REMAINDER.fullmatch(text, end):
        raise AnswerSyntaxError("expected exactly one value", len(text))
    return reader.value


def parse_truncated_json5(text: str) -> JsonValue:
    """Parse the JSON5 value at the start of a string, and close what its end leaves open.

    A value that is cut off inside a string keeps the part before the cut; a key without a value is
    dropped.

    Raises:
        AnswerSyntaxError: The text before the end is not JSON5.
    """
    reader = _Reader(text)
    reader.read()
    reader.close_open_frames()
    return reader.value


@dataclass
class _Frame:
    """An open container, and in an object the key whose value comes next."""

    container: "dict[str, JsonValue] | list[JsonValue]"
    key: str = ""


@dataclass
class _Reader:
    """Reads one value; ``done`` says whether ``value`` is complete."""

    text: str
    value: JsonValue = None
    done: bool = False
    frames: list[_Frame] = field(default_factory=list)
    expect: Expected = "value"
    cut_string: str | None = None

    def read(self) -> int:
        """Read to the end of the value or of the text; return the offset of that end."""
        text, at = self.text, 0
        while at < len(text) and not self.done:
            character = text[at]
            if blank := SKIP.match(text, at):
                at = blank.end()
            elif character in RUN:
                at = self._read_string(at)
            elif character in "{}[],:":
                self._read_structure(character, at)
                at += 1
            else:
                at = self._read_word(at)
        return at

    def close_open_frames(self) -> None:
        if self.cut_string is not None and self.expect == "value":
            self._add_value(self.cut_string)
        while self.frames:
            self._add_value(self.frames.pop().container)

    def _read_string(self, start: int) -> int:
        self._require_token("value", "key", at=start)
        text, quote, at = self.text, self.text[start], start + 1
        pieces: list[str] = []
        while at < len(text):
            if text[at] == quote:
                self._add_string("".join(pieces))
                return at + 1
            run = RUN[quote].match(text, at)
            piece, at = (run[0], run.end()) if run else self._read_escape(at)
            pieces.append(piece)
        self.cut_string = "".join(pieces)
        return at

    def _read_escape(self, at: int) -> tuple[str, int]:
        """Return the character that an escape stands for, and the offset after it."""
        text = self.text
        if pair := PAIR.match(text, at):
            return bytes.fromhex(pair[1] + pair[2]).decode("utf-16-be"), pair.end()
        escape = ESCAPE.match(text, at)
        if escape is None:
            if len(text) - at < PAIR_LENGTH:  # cut off inside the escape
                return "", len(text)
            raise AnswerSyntaxError("a broken escape", at)
        code = escape[1] or escape[2]
        character = chr(int(code, 16)) if code else ESCAPED.get(escape[3], escape[3])
        return "\ufffd" if "\ud800" <= character <= "\udfff" else character, escape.end()

    def _add_string(self, text: str) -> None:
        if self.expect == "key":
            self.frames[-1].key, self.expect = text, "colon"
        else:
            self._add_value(text)

    def _read_word(self, at: int) -> int:
        word = WORD.match(self.text, at)
        if word is None:
            raise AnswerSyntaxError(f"{self.text[at]!r}", at)
        if len(word[0]) > MAX_WORD:
            raise AnswerSyntaxError("words without quotes", at)
        if self.expect == "key" and KEY.fullmatch(word[0]):
            self.frames[-1].key, self.expect = word[0], "colon"
        else:
            self._require_token("value", at=at)
            self._add_value(_parse_scalar(word[0], at))
        return word.end()

    def _read_structure(self, character: str, at: int) -> None:
        if character in "{[":
            self._require_token("value", at=at)
            if len(self.frames) == MAX_DEPTH:
                raise AnswerSyntaxError(f"nested deeper than {MAX_DEPTH} levels", at)
            self.frames.append(_Frame({} if character == "{" else []))
            self.expect = "key" if character == "{" else "value"
        elif character == ":":
            self._require_token("colon", at=at)
            self.expect = "value"
        elif not self.frames:
            raise AnswerSyntaxError(f"{character!r}", at)
        else:
            item: Expected = "value" if isinstance(self.frames[-1].container, list) else "key"
            if character == ",":
                self._require_token("comma", at=at)
                self.expect = item
            else:
                self._require_token("comma", item, at=at)
                if (item == "value") != (character == "]"):
                    raise AnswerSyntaxError(f"{character!r}", at)
                self._add_value(self.frames.pop().container)

    def _add_value(self, value: JsonValue) -> None:
        self.expect = "comma"
        frame = self.frames[-1] if self.frames else None
        if frame is None:
            self.value, self.done = value, True
        elif isinstance(frame.container, list):
            frame.container.append(value)
        else:
            frame.container[frame.key] = value

    def _require_token(self, *expected: str, at: int) -> None:
        if self.expect not in expected:
            raise AnswerSyntaxError(f"a {self.expect} is missing", at)


def _parse_scalar(word: str, at: int) -> JsonValue:
    if word in LITERALS:
        return LITERALS[word]
    if hexadecimal := HEX.fullmatch(word):
        return int(hexadecimal[1] + hexadecimal[2], 16)
    if not NUMBER.fullmatch(word):
        raise AnswerSyntaxError(f"the word {word[:20]!r}", at)
    if re.fullmatch(r"[+-]?\d+", word):
        return int(word)
    number = float(word)
    if abs(number) == float("inf"):
        raise AnswerSyntaxError("a number out of range", at)
    return number
