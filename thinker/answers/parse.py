"""Find the structured answer in what a model wrote, and report how it had to be repaired."""

import re
from collections.abc import Collection
from contextlib import suppress
from typing import Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from thinker.answers.json5 import AnswerSyntaxError, loads, loads_truncated
from thinker.answers.json_blocks import blocks, complete
from thinker.formats.prompts.slots import Compat
from thinker.jsontext import RepairBudget, repaired, whole_value
from thinker.protocol.messages import too_deep

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
    """A structure as it was found and closed, its value, and the repair that it needed."""

    located: str | None = None
    completed: str | None = None
    value: JsonValue = None
    repair: Repair | None = None

    @property
    def repaired(self) -> bool:
        """Whether the value differs from what the model wrote."""
        return self.repair is not None


def parse(text: str, keys: Collection[str], compat: Compat | None = None) -> ParsedAnswer:
    """Return the answer with these keys at its root; ``value`` is None without one.

    Of several structures the one with most of the keys wins; of equal ones the last wins, because
    models put their conclusion last. With ``compat`` the first structure with any of the keys wins,
    and a cut end is the only fault repaired.
    """
    if compat:
        return _parse_like_upstream(text, keys)
    if len(text) > MAX_SEARCHED:
        return _whole(text)
    thinking = THINKING.match(text)
    candidates = _candidates(text[thinking.end() :] if thinking else text)
    best, most = ParsedAnswer(), -1
    for candidate in candidates:
        answer = _read(candidate)
        matching = _matching(answer.value, keys)
        if answer.value is not None and matching >= most:
            best, most = answer, matching
    if most <= 0 and keys:
        budget = RepairBudget()
        tried = reversed(candidates[-MAX_REPAIRS:])
        repairs = (_repaired(candidate, budget) for candidate in tried)
        best = next((answer for answer in repairs if _matching(answer.value, keys)), best)
    return best


def first_fitting(text: str, keys: Collection[str]) -> str | None:
    """Return the first structure with any of these keys, or the last one, as Agently 4.0.7 does."""
    found = blocks(text)
    return next(
        (block for block in found[:-1] if _matching(_loads(block), keys)),
        found[-1] if found else None,
    )


def _whole(text: str) -> ParsedAnswer:
    with suppress(ValueError):
        value = whole_value(text)
        if not too_deep(value):
            return ParsedAnswer(text, text, value)
    return ParsedAnswer()


def _candidates(text: str) -> list[str]:
    """Return the structures in a text, the likeliest answer last.

    A bracket that prose opens and never closes hides what follows it, so its inside is searched
    too, and so is the inside of code fences.
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
    value = _loads(text)
    if value is not None:
        return ParsedAnswer(text, completed, value)
    try:
        return ParsedAnswer(text, completed, loads_truncated(text), "truncated")
    except AnswerSyntaxError:
        return ParsedAnswer(text, completed)


def _repaired(text: str, budget: RepairBudget) -> ParsedAnswer:
    """Parse a structure with a lenient parser that guesses what broken JSON means."""
    text = STRING_OR_WIDE.sub(
        lambda match: match[0] if match["closed"] else match[0].translate(NARROW), text
    )
    return ParsedAnswer(text, complete(text), repaired(text, budget), "syntax")


def _parse_like_upstream(text: str, keys: Collection[str]) -> ParsedAnswer:
    located = first_fitting(text, keys)
    if located is None:
        return ParsedAnswer()
    completed = complete(located)
    value = _loads(completed)
    cut = value is not None and completed > located
    return ParsedAnswer(located, completed, value, "truncated" if cut else None)


def _loads(block: str) -> JsonValue:
    try:
        return loads(block)
    except AnswerSyntaxError:
        return None


def _matching(value: JsonValue, keys: Collection[str]) -> int:
    return len(set(keys) & set(value)) if isinstance(value, dict) else 0
