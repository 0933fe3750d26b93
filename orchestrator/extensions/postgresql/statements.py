"""Translate statements for PostgreSQL: numbered values instead of ``?`` and ``:name``."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from orchestrator.journal.db.database import Value, Values

MAX_TRANSLATIONS = 2000  # statements whose translation is kept: more than there are
# The parts of a statement; the first kinds stay unchanged.
PART = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | ::?\w+ | \?\d* | INDEXED\ BY\ \w+ """,
    re.VERBOSE,
)


class NumberedStatement(NamedTuple):
    """A statement with ``$1``, ``$2`` and so on; ``order`` lists the values for them."""

    text: str
    order: tuple[str | int, ...]

    def bind_values(self, values: Values) -> tuple[Value, ...]:
        """Return the values in the order of their numbers.

        Raises:
            KeyError, IndexError: a value is missing.
        """
        if isinstance(values, Mapping):
            return tuple(values[str(name)] for name in self.order)
        if isinstance(values, Sequence):
            return tuple(values[int(place)] for place in self.order)
        raise TypeError(values)


@lru_cache(MAX_TRANSLATIONS)
def translate_statement(statement: str) -> NumberedStatement:
    """Translate a statement with ``?``, ``?2`` or ``:name``.

    A value gets a number for each use, as the types may differ.
    """
    order: list[str | int] = []
    count = 0

    def number_placeholder(found: re.Match[str]) -> str:
        nonlocal count
        part = found[0]
        if part.startswith("INDEXED"):  # advice for SQLite
            return ""
        if part[0] not in "?:" or part.startswith("::"):
            return part
        if part == "?":
            order.append(count)
            count += 1
        elif part[0] == "?":
            order.append(int(part[1:]) - 1)
            count = max(count, int(part[1:]))  # from which SQLite goes on
        else:
            order.append(part[1:])
        return f"${len(order)}"

    return NumberedStatement(PART.sub(number_placeholder, statement), tuple(order))
