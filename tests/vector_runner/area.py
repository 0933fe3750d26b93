"""An area of vectors: how its cases run through the product."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vector_runner.cases import Case

Rule = Callable[[Case, Any], bool]


def as_it_is(value: Any) -> Any:
    """Return an expected value unchanged."""
    return value


@dataclass(frozen=True)
class Area:
    """``run`` computes the product's answer, ``read`` converts the expected answer to its form.

    ``rules`` are the area's deviations in deviations.md, by name: each returns whether it alone
    explains a different answer.
    """

    run: Callable[[Any], Any]
    read: Callable[[Any], Any] = as_it_is
    same: Callable[[Any, Any], bool] = operator.eq
    rules: Mapping[str, Rule] = field(default_factory=dict)
