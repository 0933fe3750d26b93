"""Say how far a run of a recorded turn can be told from its record, and in what they differ."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.control.trials import Fidelity, ResultSource, TriedCall, TurnRecord

NEAR = 0.8  # share of words that two texts have in common, which then count as near
INVENTED: frozenset[ResultSource] = frozenset({"invented", "typed", "stale"})
WORD = re.compile(r"\w+")
BECAUSE: dict[ResultSource, str] = {
    "invented": "a model invented the result of {name}",
    "typed": "a person typed the result of {name}",
    "stale": "the result of {name} was recorded after other effects",
}


class RunFacts(NamedTuple):
    """What is known of a run: whether something was ``changed``, and why it ``stopped`` if so.

    ``requests`` is the number of recorded requests that it had to make.
    """

    tried: TurnRecord
    requests: int
    changed: bool
    stopped: str = ""
    impossible: str = ""


class Judgement(NamedTuple):
    """The fidelity of a run, and the reason why it is not higher."""

    fidelity: Fidelity
    reason: str = ""


def judge_run(facts: RunFacts) -> Judgement:
    """Return the least fidelity of all steps of a run."""
    if facts.impossible:
        return Judgement("impossible", facts.impossible)
    if facts.stopped:
        return Judgement("stopped", facts.stopped)
    steps = facts.tried.steps
    for call in (call for step in steps for call in step.calls):
        if call.source in INVENTED:
            return Judgement("invented", BECAUSE[call.source].format(name=call.name))
    exact = sum(step.exact is True for step in steps)
    if not facts.changed and exact == len(steps) == facts.requests:
        return Judgement("exact")
    if not facts.changed and any(step.exact is None for step in steps):
        return Judgement("same", "the record has no digests of its requests")
    return Judgement("same", f"exact for {exact} of {facts.requests} requests")


def is_alike(tried: TurnRecord, recorded: TurnRecord) -> bool:
    """Return whether two runs made the same calls and ended with nearly the same text."""
    ours, theirs = (Counter(call.key for call in _list_calls(one)) for one in (tried, recorded))
    return ours == theirs and are_near(tried.answer, recorded.answer)


def are_near(one: str, other: str) -> bool:
    """Return whether two texts have most of their words in common."""
    if one.strip() == other.strip():
        return True
    ours, theirs = (Counter(WORD.findall(text.lower())) for text in (one, other))
    size = ours.total() + theirs.total()
    return bool(size) and 2 * (ours & theirs).total() / size >= NEAR


def describe_differences(
    tried: TurnRecord, recorded: TurnRecord, *, effects: bool
) -> tuple[str, ...]:
    """Say which calls, with ``effects`` or without, one of two runs made and the other did not."""
    ours, theirs = (
        [call for call in _list_calls(one) if call.effect is effects] for one in (tried, recorded)
    )
    lost, more = _subtract_calls(theirs, ours), _subtract_calls(ours, theirs)
    sentences = []
    for call in lost:
        other = next((one for one in more if one.name == call.name), None)
        if other is not None:
            more.remove(other)
            sentences.append(f"{call.name}: called with other arguments")
        else:
            instead = "" if effects else f"{', '.join(one.name for one in more)}"
            sentences.append(f"{call.name} → {instead or 'not called'}")
            more = more if effects else []
    return (*sentences, *(f"{call.name}: called, which it was not" for call in more))


def _list_calls(record: TurnRecord) -> list[TriedCall]:
    return [call for step in record.steps for call in step.calls]


def _subtract_calls(calls: Sequence[TriedCall], others: Sequence[TriedCall]) -> list[TriedCall]:
    """Return the calls that have no equal one among the others."""
    left = Counter(call.key for call in others)
    found = []
    for call in calls:
        if left[call.key]:
            left[call.key] -= 1
        else:
            found.append(call)
    return found
