"""Statements as PostgreSQL takes them: values have numbers instead of ``?`` and ``:name``."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from orchestrator.journal.db.database import Value, Values

KEPT = 2000  # statements whose translation is kept: more than there are
# What stands in a statement, of which the first kinds are left as they are.
PART = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | ::?\w+ | \?\d* | INDEXED\ BY\ \w+ """,
    re.VERBOSE,
)


class Statement(NamedTuple):
    """A statement with ``$1``, ``$2`` and so on; ``order`` are the values that these stand for."""

    text: str
    order: tuple[str | int, ...]

    def bind(self, values: Values) -> tuple[Value, ...]:
        """Return the values in the order of their numbers.

        Raises:
            KeyError, IndexError: one of them is missing.
        """
        if isinstance(values, Mapping):
            return tuple(values[str(name)] for name in self.order)
        if isinstance(values, Sequence):
            return tuple(values[int(place)] for place in self.order)
        raise TypeError(values)


@lru_cache(KEPT)
def translate(statement: str) -> Statement:
    """Translate a statement with ``?``, ``?2`` or ``:name``.

    A value has a number for each use, as the uses may have different types.
    """
    order: list[str | int] = []
    count = 0

    def number(found: re.Match[str]) -> str:
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

    return Statement(PART.sub(number, statement), tuple(order))
