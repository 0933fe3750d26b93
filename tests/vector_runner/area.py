"""How the cases of one area are run through the product."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vector_runner.cases import Case

Rule = Callable[[Case, Any], bool]


def as_it_is(value: Any) -> Any:
    """An expected value that needs no translation."""
    return value


@dataclass(frozen=True)
class Area:
    """``run`` makes our answer of a case's input, ``read`` our form of its expected answer.

    ``rules`` are the deviations that deviations.md lists for the area, by name: each tells whether
    it alone explains why our answer to a case is another one.
    """

    run: Callable[[Any], Any]
    read: Callable[[Any], Any] = as_it_is
    same: Callable[[Any, Any], bool] = operator.eq
    rules: Mapping[str, Rule] = field(default_factory=dict)
