"""Where the arguments of a call are from.

Where: is an argument traced to who wrote it?
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from orchestrator.toolcalls import value_forms

# The chat's own user; the operator's files; a directory that the operator trusts; a tool's result,
# a page or another person; the model itself.
SourceKind: TypeAlias = Literal[
    "user", "operator", "directory", "tool", "web", "other_user", "model"
]
MAX_READ = 200_000  # characters of trusted text
SHORT_NUMBER = 5  # digits; a number of so few is in a text by chance, or as a part of a date
WHOLE_DAY = {(0, 0), (23, 59)}
TRIVIAL = re.compile(r"[^\W\d_]{1,2}|\d{1,2}(?:-?[^\W\d_]{2})?")  # words that carry nothing
NUMBERED = frozenset(("id", "ids", "no", "nr", "number", "nummer", "numero", "número", "numer"))
_MISSING_SPACE = re.compile(r"(?<=[a-z])\.(?=[A-Z][a-z])")  # between two sentences


class ArgumentSource(NamedTuple):
    """Where a value of an argument is from; ``name`` says which tool, page or person.

    ``decides`` tells whether the value decides where the call goes or what it touches.
    """

    kind: SourceKind
    name: str = ""
    decides: bool = False


class KnownText:
    """Texts of one author, in which values are looked up by their forms."""

    def __init__(self, texts: Iterable[str]) -> None:
        text = "\n".join(texts)[:MAX_READ]
        self._text = value_forms.normalize_text(_MISSING_SPACE.sub(". ", text))

    @cached_property
    def _words(self) -> str:
        return f" {' '.join(value_forms.split_words(self._text))} "

    @cached_property
    def _word_set(self) -> frozenset[str]:
        return frozenset(self._words.split())

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return frozenset(value_forms.iter_numbers(self._text))

    @cached_property
    def _dates(self) -> frozenset[value_forms.Date]:
        return frozenset(value_forms.iter_dates(self._text))

    @cached_property
    def _times(self) -> frozenset[value_forms.Time]:
        return frozenset(value_forms.iter_times(self._text))

    def has_phrase(self, value: str) -> bool:
        """Return whether the words of a value stand in the text, one after the other."""
        if value_forms.is_deceptive(value):
            return False
        words = value_forms.split_words(value)
        if words and f" {' '.join(words)} " in self._words:
            return not value.strip().isdigit() or len(value.strip()) > SHORT_NUMBER
        pattern = value_forms.build_pattern(value)
        return pattern is not None and pattern.search(self._text) is not None

    def has_numbered(self, number: str, heads: Iterable[str]) -> bool:
        """Return whether a number stands in the text as that of something named in ``heads``."""
        known = "|".join(map(re.escape, sorted(NUMBERED.union(heads))))
        named = rf"(?:#|\b(?:{known})\.?s?)[\s:'\"#=(]{{0,4}}{re.escape(number)}(?![\w.,/-]*\w)"
        return re.search(named, self._text) is not None

    def has_number(self, number: float) -> bool:
        return number in self._numbers

    def has_time(self, value: str, *, ends: bool) -> bool:
        """Return whether the date and the time of a value stand in the text.

        The date suffices if the value ``ends`` something, as its duration may be told instead.
        """
        plain = value_forms.normalize_text(value)
        dates = [*value_forms.iter_dates(plain)]
        known = any(date in self._dates or (0, *date[1:]) in self._dates for date in dates)
        times = set(value_forms.iter_times(plain)) - WHOLE_DAY
        return (known or not dates) and (ends or times <= self._times)

    def has_words(self, text: str) -> bool:
        """Return whether the text has each word of another one, in any order."""
        return not value_forms.is_deceptive(text) and all(
            word in self._word_set or TRIVIAL.fullmatch(word)
            for word in value_forms.split_words(text)
        )
