"""The structured answer in what a model wrote: located, mended, and said how far it was mended."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

from thinker.answers.complete import complete
from thinker.answers.locate import blocks
from thinker.answers.reader import AnswerReader, AnswerSyntaxError, loads
from thinker.jsontext import mended

Release: TypeAlias = Literal["4.0.7"]  # of Agently, whose choice among several objects is wanted
Repair: TypeAlias = Literal["truncated", "syntax"]

MAX_MENDED = 4  # structures that it is given of one answer
MAX_LEVELS = 8  # brackets left open that are looked into
MAX_CANDIDATES = 64  # structures looked at in one answer, from its end
FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
WIDE = re.compile(r'"(?:[^"\\]|\\.)*+"|[：，“”]', re.DOTALL)  # noqa: RUF001 - as models write
NARROW = {"：": ":", "，": ",", "“": '"', "”": '"'}  # noqa: RUF001 - outside strings in quotes
THINKING = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


@dataclass(frozen=True)
class ParsedAnswer:
    """What was found: the text of it, the same closed, its value, and what had to be mended."""

    located: str | None = None
    completed: str | None = None
    value: JsonValue = None
    repair: Repair | None = None

    @property
    def repaired(self) -> bool:
        """Whether the value is more or less than what the model wrote."""
        return self.repair is not None


def parse(text: str, keys: Collection[str], compat: Release | None = None) -> ParsedAnswer:
    """The answer with these keys at its root; without a value when there is none.

    Of several structures the one with most of the keys wins, and of equal ones the last, which is
    where models put their conclusion. ``compat`` takes the first with any of them, and mends
    nothing but the end.
    """
    if compat:
        return _as_upstream(text, keys)
    thinking = THINKING.match(text)
    candidates = _candidates(text[thinking.end() :] if thinking else text)
    best, most = ParsedAnswer(), -1
    for candidate in candidates:
        answer = _read(candidate)
        fitting = _fitting(answer, keys)
        if answer.value is not None and fitting >= most:
            best, most = answer, fitting
    if most <= 0 and keys:
        tries = (_mending(candidate) for candidate in reversed(candidates[-MAX_MENDED:]))
        best = next((answer for answer in tries if _fitting(answer, keys)), best)
    return best


def _fitting(answer: ParsedAnswer, keys: Collection[str]) -> int:
    return len(set(keys) & set(answer.value)) if isinstance(answer.value, dict) else 0


def _candidates(text: str) -> list[str]:
    """The structures in a text; what is likelier the answer stands further back.

    Brackets that prose opens and never closes hide what comes behind them, so there is a look
    into those, and one into code fences alone.
    """
    levels: list[list[str]] = []
    rest = text
    while rest and len(levels) < MAX_LEVELS:
        levels.append(blocks(rest))
        last = levels[-1][-1] if levels[-1] else ""
        rest = last[1:] if complete(last) != last else ""
    fenced = [block for fence in FENCE.findall(text) for block in blocks(fence)]
    outer, *hidden = levels or [[]]
    inner = [block for level in reversed(hidden) for block in level]
    return [*inner, *fenced, *outer][-MAX_CANDIDATES:]


def _read(text: str) -> ParsedAnswer:
    completed = complete(text)
    try:
        return ParsedAnswer(text, completed, loads(text))
    except AnswerSyntaxError:
        pass
    try:
        reader = AnswerReader()
        reader.feed(text)
        reader.close()
        return ParsedAnswer(text, completed, reader.value, "truncated")
    except AnswerSyntaxError:
        pass
    return ParsedAnswer(text, completed)


def _mending(text: str) -> ParsedAnswer:
    """What a lenient reader makes of a structure that is no JSON."""
    text = WIDE.sub(lambda match: NARROW.get(match[0], match[0]), text)
    return ParsedAnswer(text, complete(text), mended(text), "syntax")


def first_fitting(text: str, keys: Collection[str]) -> str | None:
    """The first structure in a text with any of these keys, else the last (Agently 4.0.7)."""
    found = blocks(text)
    return next(
        (block for block in found[:-1] if _shares(block, keys)), found[-1] if found else None
    )


def _as_upstream(text: str, keys: Collection[str]) -> ParsedAnswer:
    located = first_fitting(text, keys)
    if located is None:
        return ParsedAnswer()
    completed = complete(located)
    try:
        value = loads(completed)
    except AnswerSyntaxError:
        return ParsedAnswer(located, completed)
    return ParsedAnswer(located, completed, value, "truncated" if completed > located else None)


def _shares(block: str, keys: Collection[str]) -> bool:
    try:
        value = loads(block)
    except AnswerSyntaxError:
        return False
    return isinstance(value, dict) and any(key in keys for key in value)
