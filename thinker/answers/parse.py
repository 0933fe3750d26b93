"""Find the structured answer in a model's text, and report how it was repaired."""

import re
from collections.abc import Collection
from contextlib import suppress
from typing import Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from thinker.answers.json5 import AnswerSyntaxError, parse_json5, parse_truncated_json5
from thinker.answers.json_blocks import close_open_json, extract_json_blocks
from thinker.jsontext import RepairBudget, parse_whole_value, repair_json_object
from thinker.protocol.messages import is_too_deep

Repair: TypeAlias = Literal["truncated", "syntax"]

MAX_REPAIRS = 4  # structures of one answer that the slow lenient parser sees
MAX_LEVELS = 8  # unclosed brackets of prose that are searched for inner structures
MAX_SEARCHED = 128 * 1024  # characters; a longer answer must be JSON as a whole
MAX_CANDIDATES = 64  # structures of one answer that are parsed, counted from its end
FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
STRING_OR_WIDE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*(?P<closed>")?|[：，“”]', re.DOTALL)  # noqa: RUF001 - as models write
NARROW = str.maketrans("：，“”", ':,""')  # noqa: RUF001 - outside strings in quotes
THINKING = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


class ParsedAnswer(NamedTuple):
    """A structure of an answer: its text as found and as closed, its value and its repair."""

    located: str | None = None
    completed: str | None = None
    value: JsonValue = None
    repair: Repair | None = None

    @property
    def is_repaired(self) -> bool:
        """Whether the value differs from what the model wrote."""
        return self.repair is not None


def parse_answer(text: str, keys: Collection[str]) -> ParsedAnswer:
    """Return the answer with these keys at its root; without an answer, ``value`` is None.

    The structure with most of the keys wins. Of equal ones the last wins, because models put their
    conclusion last.
    """
    if len(text) > MAX_SEARCHED:
        return _parse_whole_text(text)
    thinking = THINKING.match(text)
    candidates = _list_candidates(text[thinking.end() :] if thinking else text)
    best, most = ParsedAnswer(), -1
    for candidate in candidates:
        answer = _parse_candidate(candidate)
        matching = count_matching_keys(answer.value, keys)
        if answer.value is not None and matching >= most:
            best, most = answer, matching
    if most <= 0 and keys:
        budget = RepairBudget()
        tried = reversed(candidates[-MAX_REPAIRS:])
        repairs = (_repair_candidate(candidate, budget) for candidate in tried)
        best = next((answer for answer in repairs if count_matching_keys(answer.value, keys)), best)
    return best


def _parse_whole_text(text: str) -> ParsedAnswer:
    with suppress(ValueError):
        value = parse_whole_value(text)
        if not is_too_deep(value):
            return ParsedAnswer(text, text, value)
    return ParsedAnswer()


def _list_candidates(text: str) -> list[str]:
    """Return the structures in a text, the likeliest answer last.

    A bracket that prose opens and never closes hides what follows it, so its inside is searched
    too, and so is the inside of code fences.
    """
    levels: list[list[str]] = []
    rest = text
    while rest and len(levels) < MAX_LEVELS:
        levels.append(extract_json_blocks(rest))
        last = levels[-1][-1] if levels[-1] else ""
        rest = last[1:] if close_open_json(last) != last else ""
    fenced = [block for fence in FENCE.findall(text) for block in extract_json_blocks(fence)]
    outer, *hidden = levels or [[]]
    inner = [block for level in reversed(hidden) for block in level]
    return [*inner, *fenced, *outer][-MAX_CANDIDATES:]


def _parse_candidate(text: str) -> ParsedAnswer:
    completed = close_open_json(text)
    value = parse_or_none(text)
    if value is not None:
        return ParsedAnswer(text, completed, value)
    try:
        return ParsedAnswer(text, completed, parse_truncated_json5(text), "truncated")
    except AnswerSyntaxError:
        return ParsedAnswer(text, completed)


def _repair_candidate(text: str, budget: RepairBudget) -> ParsedAnswer:
    """Parse a structure with a lenient parser that guesses what broken JSON means."""
    text = STRING_OR_WIDE.sub(
        lambda match: match[0] if match["closed"] else match[0].translate(NARROW), text
    )
    return ParsedAnswer(text, close_open_json(text), repair_json_object(text, budget), "syntax")


def parse_or_none(block: str) -> JsonValue:
    """Return the value of a structure, or None if it is not JSON5."""
    try:
        return parse_json5(block)
    except AnswerSyntaxError:
        return None


def count_matching_keys(value: JsonValue, keys: Collection[str]) -> int:
    """Return the number of these keys that a value has at its root."""
    return len(set(keys) & set(value)) if isinstance(value, dict) else 0
