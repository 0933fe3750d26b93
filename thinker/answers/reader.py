"""Reads JSON as models write it, piece by piece: JSON5 and line breaks in strings.

One pass over the text whatever its pieces are, so a stream and the whole cost and give the same.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

MAX_DEPTH = 64  # deeper than any answer; what checks and writes it recurses
MAX_WORD = 400  # characters of a number or a bare name
BLANK = re.compile(r"[\s\ufeff]+")
BEHIND = re.compile(r"(?:[\s\ufeff]++|//[^\n\r]*+|/\*.*?\*/)*+", re.DOTALL)
WORD = re.compile(r"[^\s\ufeff{}\[\],:\"'/]+")
NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
HEX = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]+)")
RUN = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
MARKS = "{}[],:\"'"
PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[^ux]))", re.DOTALL)
PAIR_LENGTH = len(r"\ud83d\ude00")
ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
ESCAPED |= dict.fromkeys(("\n", "\r", "\r\n", "\u2028", "\u2029"), "")
LITERALS: dict[str, JsonValue] = {"true": True, "false": False, "null": None}


class AnswerSyntaxError(ValueError):
    """The text is no JSON that can be understood; ``rest`` is the text from where it is none."""

    def __init__(self, problem: str, position: int, rest: str = "") -> None:
        super().__init__(f"{problem} at character {position}")
        self.rest = rest


@dataclass(frozen=True)
class JsonEvent:
    """Something became known at ``path`` (``a.b[0]``): more of a string, or a value as a whole.

    A ``delta`` carries the new end of a string, ``done`` the value.
    """

    path: str
    kind: Literal["delta", "done"]
    delta: str = ""
    value: JsonValue = None


@dataclass
class _Frame:
    """An open container, and the place in it that is being read."""

    container: "dict[str, JsonValue] | list[JsonValue]"
    key: str = ""
    path: str = field(default="")

    def place(self) -> str:
        if isinstance(self.container, list):
            return f"{self.path}[{len(self.container)}]"
        return f"{self.path}.{self.key}" if self.path else self.key

    def put(self, value: JsonValue) -> None:
        if isinstance(self.container, list):
            self.container.append(value)
        else:
            self.container[self.key] = value


class AnswerReader:
    """Reads one value. ``value`` is what is known of it, ``done`` whether that is all of it."""

    def __init__(self) -> None:
        self.value: JsonValue = None
        self.done = False
        self._frames: list[_Frame] = []
        self._expect: Literal["value", "key", "colon", "comma"] = "value"
        self._text = ""  # the piece that is being read
        self._rest = ""  # the begun token that the next piece goes on with
        self._read = 0  # characters before the rest
        self._quote = ""  # of the string that is being read
        self._comment = ""  # what ends the comment that is being read
        self._string: list[str] = []
        self._shown = 0  # pieces of the string that were given as deltas
        self._events: list[JsonEvent] = []

    def feed(self, text: str, *, last: bool = False) -> tuple[list[JsonEvent], str]:
        """What became known with this piece, and the text behind the value when it is done.

        Raises:
            AnswerSyntaxError: it is no JSON.
        """
        self._text = text = self._rest + text
        at = 0
        while at < len(text) and not self.done:
            step = self._step(text, at, last=last)
            if step == 0:
                break
            at += step
        self._rest, self._read = text[at:], self._read + at
        return self.known(), self._rest if self.done else ""

    def known(self) -> list[JsonEvent]:
        """What became known since this was last said, also when the next character was an error."""
        self._show()
        events, self._events = self._events, []
        return events

    def close(self) -> list[JsonEvent]:
        """What is known now that the text has ended in the middle of the value.

        Raises:
            AnswerSyntaxError: what had begun last is no JSON.
        """
        events, _ = self.feed("", last=True)
        if self._quote and self._expect == "value":
            self._end_string()
        while self._frames:
            self._end_container()
        events, self._events = events + self._events, []
        return events

    def _step(self, text: str, at: int, *, last: bool) -> int:
        """Read one token; how many characters that took, 0 when it needs the next piece."""
        if self._comment:
            return self._in_comment(text, at)
        if self._quote:
            return self._in_string(text, at, last=last)
        character = text[at]
        if character == "/":
            return self._begin_comment(text, at, last=last)
        blank = BLANK.match(text, at)
        if not blank and character not in MARKS:
            return self._word(text, at, last=last)
        if character in RUN:
            self._need("value", "key", at=at)
            self._quote, self._string, self._shown = character, [], 0
        elif not blank:
            self._structure(character, at)
        return blank.end() - at if blank else 1

    def _begin_comment(self, text: str, at: int, *, last: bool) -> int:
        opening = text[at : at + 2]
        if len(opening) == 1 and not last:
            return 0
        if opening not in {"//", "/*"}:
            raise self._error("a lone '/'", at)
        self._comment = "\n" if opening == "//" else "*/"
        return 2

    def _in_comment(self, text: str, at: int) -> int:
        end = text.find(self._comment, at)
        if end >= 0:
            length = len(self._comment)
            self._comment = ""
            return end + length - at
        star = self._comment == "*/" and text.endswith("*")  # may be half of the end
        return len(text) - at - star

    def _in_string(self, text: str, at: int, *, last: bool) -> int:
        run = RUN[self._quote].match(text, at)
        if run:
            self._string.append(run[0])
            return run.end() - at
        if text[at] == self._quote:
            self._end_string()
            return 1
        if not last and (len(text) - at < PAIR_LENGTH) and not self._is_short(text, at):
            return 0
        pair = PAIR.match(text, at)
        if pair:
            units = bytes.fromhex(pair[1] + pair[2])
            self._string.append(units.decode("utf-16-be"))
            return PAIR_LENGTH
        escape = ESCAPE.match(text, at)
        if escape is None:
            if last and len(text) - at < PAIR_LENGTH:
                return len(text) - at  # cut in the middle of an escape
            raise self._error("a broken escape", at)
        code = escape[1] or escape[2]
        character = chr(int(code, 16)) if code else ESCAPED.get(escape[3], escape[3])
        self._string.append("\ufffd" if "\ud800" <= character <= "\udfff" else character)
        return escape.end() - at

    def _is_short(self, text: str, at: int) -> bool:
        """Whether an escape is whole however the text goes on."""
        return text[at + 1 : at + 2] not in ("", "u", "x", "\r")

    def _word(self, text: str, at: int, *, last: bool) -> int:
        word = WORD.match(text, at)
        if word is None:
            raise self._error(f"{text[at]!r}", at)
        if len(word[0]) > MAX_WORD:
            raise self._error("words without quotes", at)
        if word.end() == len(text) and not last:
            return 0
        if self._expect == "key" and NAME.fullmatch(word[0]):
            self._frames[-1].key, self._expect = word[0], "colon"
        else:
            self._need("value", at=at)
            self._add(self._scalar(word[0], at))
        return word.end() - at

    def _scalar(self, word: str, at: int) -> JsonValue:
        if word in LITERALS:
            return LITERALS[word]
        hexadecimal = HEX.fullmatch(word)
        if hexadecimal:
            return int(hexadecimal[1] + hexadecimal[2], 16)
        if not NUMBER.fullmatch(word):
            raise self._error(f"the word {word[:20]!r}", at)
        if re.fullmatch(r"[+-]?\d+", word):
            return int(word)
        number = float(word)
        if abs(number) == float("inf"):
            raise self._error("a number beyond all bounds", at)
        return number

    def _structure(self, character: str, at: int) -> None:
        if character in "{[":
            self._need("value", at=at)
            if len(self._frames) == MAX_DEPTH:
                raise self._error(f"more than {MAX_DEPTH} levels", at)
            path = self._frames[-1].place() if self._frames else ""
            self._frames.append(_Frame({} if character == "{" else [], path=path))
            self._expect = "key" if character == "{" else "value"
        elif character == ":":
            self._need("colon", at=at)
            self._expect = "value"
        elif not self._frames:
            raise self._error(f"{character!r}", at)
        elif character == ",":
            self._need("comma", at=at)
            is_list = isinstance(self._frames[-1].container, list)
            self._expect = "value" if is_list else "key"
        else:
            is_list = isinstance(self._frames[-1].container, list)
            self._need("comma", "value" if is_list else "key", at=at)
            if is_list != (character == "]"):
                raise self._error(f"{character!r}", at)
            self._end_container()

    def _end_container(self) -> None:
        self._add(self._frames.pop().container)

    def _end_string(self) -> None:
        self._show()
        self._quote = ""
        text = "".join(self._string)
        if self._expect == "key":
            self._frames[-1].key, self._expect = text, "colon"
        else:
            self._add(text)

    def _add(self, value: JsonValue) -> None:
        self._expect = "comma"
        if self._frames:
            self._events.append(JsonEvent(self._frames[-1].place(), "done", value=value))
            self._frames[-1].put(value)
        else:
            self.value, self.done = value, True

    def _show(self) -> None:
        if self._quote and self._expect == "value" and self._frames:
            new = "".join(self._string[self._shown :])
            self._shown = len(self._string)
            if new:
                self._events.append(JsonEvent(self._frames[-1].place(), "delta", delta=new))

    def _need(self, *expected: str, at: int) -> None:
        if self._expect not in expected:
            raise self._error(f"no {self._expect} where one belongs", at)

    def _error(self, problem: str, at: int) -> AnswerSyntaxError:
        return AnswerSyntaxError(problem, self._read + at, self._text[at:])


def loads(text: str) -> JsonValue:
    """The value of a whole JSON5 text.

    Raises:
        AnswerSyntaxError: it is none, or ends before it is complete.
    """
    reader = AnswerReader()
    _, behind = reader.feed(text, last=True)
    if not reader.done or not BEHIND.fullmatch(behind):
        raise AnswerSyntaxError("more or less than one value", len(text))
    return reader.value
