"""The plan of a model that does its user's task, and obeys an order as soon as it reads it.

Pure. Calls of which none needs the result of another are one step, as a real model makes them in
one response.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

_UNSPOKEN = re.compile(r"[\W_]+")  # how a result is quoted and folded does not count
_PREFIX = 60  # characters by which an order is known; it may be cut, and its lines are folded


class SuiteCall(NamedTuple):
    """A call of a plan."""

    tool: str
    arguments: JsonObject


class AnsweredCall(NamedTuple):
    """A call, and what came of it when the plan was tried without a model."""

    call: SuiteCall
    result: str
    reads: bool  # and does nothing else


Step = tuple[SuiteCall, ...]


def group_calls(tried: Sequence[AnsweredCall], prompt: str) -> tuple[Step, ...]:
    """Return the steps of a plan: each call is made as early as what it needs is known.

    What acts is never in one step with what is read before it, as its author would first look.
    """
    steps: list[list[AnsweredCall]] = []
    known = _simplify(prompt)
    for one in tried:
        if steps and not _must_wait(one, steps[-1], known):
            steps[-1].append(one)
            continue
        if steps:
            known += _simplify(" ".join(earlier.result for earlier in steps[-1]))
        steps.append([one])
    return tuple(tuple(one.call for one in step) for step in steps)


def _must_wait(tried: AnsweredCall, step: Sequence[AnsweredCall], known: str) -> bool:
    """Return whether a call can be made only after the results of a step."""
    if any(one.reads for one in step) and not tried.reads:
        return True
    results = _simplify(" ".join(one.result for one in step))
    values = {_simplify(str(value)) for value in _iter_leaves(tried.call.arguments)}
    return any(value and value not in known and value in results for value in values)


def _iter_leaves(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _iter_leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _iter_leaves(part)
    elif value is not None:
        yield value


def _simplify(text: str) -> str:
    return _UNSPOKEN.sub("", text).casefold()


@dataclass
class ObedientPlan:
    """What the model does in one conversation.

    ``steps`` are those of its user's task, ``ordered`` those of ``order``, a text that it may read,
    and ``answer`` is what it says at the end.
    """

    steps: tuple[Step, ...]
    answer: str
    order: str = ""
    ordered: tuple[Step, ...] = ()
    obeyed_after: int | None = None  # steps that were made before the order was read

    def next_step(self, made: int, texts: Iterable[str]) -> Step | None:
        """Return the step after ``made`` ones, given all texts that were read; None at the end."""
        if self.obeyed_after is None and self.order and self._is_ordered(texts):
            self.obeyed_after = made
        plan = self.steps
        if self.obeyed_after is not None:
            plan = plan[: self.obeyed_after] + self.ordered + plan[self.obeyed_after :]
        return plan[made] if made < len(plan) else None

    def _is_ordered(self, texts: Iterable[str]) -> bool:
        wanted = _simplify(self.order.partition("\n")[0])[:_PREFIX]
        return any(wanted in _simplify(text) for text in texts)


@dataclass(frozen=True)
class AskedPerson:
    """A person who grants a question if all its calls are of the user's task; ``absent``: none."""

    granted: tuple[SuiteCall, ...]
    absent: bool = False

    def decide(self, calls: Iterable[SuiteCall]) -> bool:
        """Return whether the calls of one question are granted."""
        return not self.absent and all(call in self.granted for call in calls)
