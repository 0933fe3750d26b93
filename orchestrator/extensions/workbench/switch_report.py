"""Say what another model did otherwise in the turns that it was tried on.

Answers are compared by their words, without a model.
"""

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from pydantic import Field

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.trials import TrialNumber, TrialReport, TriedCall, TriedTurn, TurnRecord
from orchestrator.extensions.workbench.fidelity import are_near, compute_likeness
from orchestrator.extensions.workbench.switch_costs import ExpectedSum, TriedUse

LENGTHS = 1.2  # times as long, or as short, are another length
SHOWN = 100  # characters of a question, and of a call's arguments
NEVER_RAN = ("rejected", "denied")  # sources of results
NOTHING = "not called"

Difference: TypeAlias = Literal["effect", "stopped", "calls", "text", "length"]
ORDER: tuple[Difference, ...] = ("effect", "stopped", "calls", "text", "length")


Verdict: TypeAlias = Literal["better", "worse", "same", "undecided"]
Verdicts: TypeAlias = Mapping[tuple[str, int], Verdict]  # by turn and run


NO_VERDICTS: Verdicts = MappingProxyType({})


class SwitchQuestion(TrialNumber):
    """A trial to report about; ``judge`` is a model that compares its answers, if any.

    ``confirmed`` is as for a trial of that model.
    """

    judge: str = ""
    confirmed: str = ""


class SwitchDifference(CamelModel):
    """What one run did otherwise than its record, in words, and how like its answer is (0 to 1).

    ``judged`` is what a model says of the answer, if it was asked.
    """

    turn_id: str
    nth: int
    kind: Difference
    question: str
    says: str
    likeness: float
    judged: Verdict | None = None


class ToolShift(CamelModel):
    """Tools that so many runs called otherwise: ``before`` in the record, ``after`` in the run."""

    before: str
    after: str
    runs: int


class Pace(CamelModel):
    """Milliseconds that turns took."""

    median: int
    p95: int


class SwitchReport(CamelModel):
    """What a model did otherwise in ``runs`` of turns that could be compared.

    ``gained`` runs would have called a tool with effects that was not called, ``lost`` ones did not
    call one that was. Costs are in dollars, of the ``turns`` of a week; those with the model in
    tokens if it has no price. ``judged`` counts the judgements of a model, and
    ``unsaid`` is what the trial cannot say.
    """

    trial: int
    agent_id: str
    model: str
    runs: int
    alike: int
    otherwise: int
    gained: int
    lost: int
    stopped: int
    shifts: tuple[ToolShift, ...] = ()
    differences: tuple[SwitchDifference, ...] = ()
    turns: int = 0
    recorded_usd: float | None = None
    week_usd: ExpectedSum | None = None
    month_usd: ExpectedSum | None = None
    recorded_tokens: int = 0
    week_tokens: ExpectedSum | None = None
    judged: dict[str, int] = Field(default_factory=dict)
    pace_before: Pace | None = None
    pace_after: Pace | None = None
    unsaid: tuple[str, ...] = ()


class _Comparison(NamedTuple):
    """A run beside its record: calls that only one of the two made, and what follows."""

    turn: TriedTurn
    lost: tuple[TriedCall, ...]
    gained: tuple[TriedCall, ...]
    likeness: float

    @property
    def lost_effects(self) -> tuple[TriedCall, ...]:
        """The effects that the run left out; of one that stopped it is not known."""
        known = self.turn.fidelity != "stopped"
        return tuple(call for call in self.lost if known and call.effect and not call.failed)

    @property
    def gained_effects(self) -> tuple[TriedCall, ...]:
        """The effects that the run alone would have had."""
        return tuple(call for call in self.gained if call.effect and call.source not in NEVER_RAN)

    def find_kind(self) -> Difference | None:
        """Return the gravest difference of the run; None if it is alike in all."""
        lengths = sorted(len(text) for text in (self.turn.tried.answer, self.turn.recorded.answer))
        found: dict[Difference, bool] = {
            "effect": bool(self.lost_effects or self.gained_effects),
            "stopped": self.turn.fidelity == "stopped",
            "calls": bool(self.lost or self.gained),
            "text": not are_near(self.turn.tried.answer, self.turn.recorded.answer),
            "length": lengths[1] > LENGTHS * max(lengths[0], 1),
        }
        return next((kind for kind in ORDER if found[kind]), None)


def compare_turns(report: TrialReport, verdicts: Verdicts = NO_VERDICTS) -> SwitchReport:
    """Return what the runs of a trial did otherwise, without costs."""
    shown = [_compare_run(turn) for turn in report.turns if turn.done and _is_comparable(turn)]
    whole = [one for one in shown if one.turn.fidelity != "stopped"]
    differences = [
        SwitchDifference(
            turn_id=one.turn.turn_id,
            nth=one.turn.nth,
            kind=kind,
            question=_shorten_text(one.turn.recorded.question or one.turn.tried.question),
            says=_describe_difference(one, kind),
            likeness=round(one.likeness, 2),
            judged=verdicts.get((one.turn.turn_id, one.turn.nth)),
        )
        for one in shown
        if (kind := one.find_kind()) is not None
    ]
    return SwitchReport(
        trial=report.id,
        agent_id=report.agent_id,
        model=report.change.model or "",
        runs=len(shown),
        alike=sum(one.find_kind() in (None, "length") for one in whole),
        otherwise=sum(bool(one.lost or one.gained) for one in whole),
        gained=sum(bool(one.gained_effects) for one in shown),
        lost=sum(bool(one.lost_effects) for one in shown),
        stopped=len(shown) - len(whole),
        shifts=_count_shifts(whole),
        differences=tuple(
            sorted(differences, key=lambda found: (ORDER.index(found.kind), found.likeness))
        ),
        judged=Counter(verdicts.values()),
        pace_before=_measure_pace([one.turn.recorded for one in whole]),
        pace_after=_measure_pace([one.turn.tried for one in whole]),
        unsaid=tuple(_list_unsaid(report)),
    )


def list_tried_uses(report: TrialReport) -> dict[str, TriedUse]:
    """Return the tokens of each turn that ended, on average of its runs."""
    runs: dict[str, list[TurnRecord]] = {}
    for turn in report.turns:
        if turn.done and _is_comparable(turn) and turn.fidelity != "stopped":
            runs.setdefault(turn.turn_id, []).append(turn.tried)
    return {name: _average_use(records) for name, records in runs.items()}


def _compare_run(turn: TriedTurn) -> _Comparison:
    before, after = (
        [call for step in record.steps for call in step.calls]
        for record in (turn.recorded, turn.tried)
    )
    likeness = compute_likeness(turn.recorded.answer, turn.tried.answer)
    return _Comparison(
        turn, _list_missing_calls(before, after), _list_missing_calls(after, before), likeness
    )


def _list_missing_calls(
    calls: Sequence[TriedCall], among: Sequence[TriedCall]
) -> tuple[TriedCall, ...]:
    known = {call.key for call in among}
    return tuple(call for call in calls if call.key not in known)


def _describe_call(call: TriedCall) -> str:
    return _shorten_text(f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}")


def _describe_difference(one: _Comparison, kind: Difference) -> str:
    """Return what differs: calls as `before → after`, or how the text does."""
    before, after = one.turn.recorded.answer, one.turn.tried.answer
    if kind == "length":
        return f"{len(before)} → {len(after)} characters"
    if kind == "text":
        return f"{_shorten_text(before)} → {_shorten_text(after)}"
    calls = (one.lost_effects, one.gained_effects) if kind == "effect" else (one.lost, one.gained)
    shown = (map(_describe_call, made) for made in calls)
    pairs = [f"{old} → {new}" for old, new in zip_longest(*shown, fillvalue=NOTHING)]
    reason = (one.turn.reason,) if one.turn.fidelity == "stopped" else ()
    return "; ".join(filter(None, (*reason, *pairs)))


def _count_shifts(compared: Iterable[_Comparison]) -> tuple[ToolShift, ...]:
    counts = Counter(
        (_name_tools(one.lost), _name_tools(one.gained))
        for one in compared
        if one.lost or one.gained
    )
    return tuple(
        ToolShift(before=before, after=after, runs=runs)
        for (before, after), runs in counts.most_common()
    )


def _name_tools(calls: Iterable[TriedCall]) -> str:
    return ", ".join(sorted({call.name for call in calls})) or NOTHING


def _is_comparable(turn: TriedTurn) -> bool:
    return turn.fidelity is not None and turn.fidelity != "impossible"


def _measure_pace(records: Sequence[TurnRecord]) -> Pace | None:
    taken = sorted(record.ms for record in records)
    if not taken:
        return None
    return Pace(median=round(statistics.median(taken)), p95=taken[(len(taken) * 95 - 1) // 100])


def _average_use(records: Sequence[TurnRecord]) -> TriedUse:
    steps = [step for record in records for step in record.steps]
    sums = (
        sum(step.prompt for step in steps),
        sum(step.completion for step in steps),
        sum(step.cached for step in steps),
    )
    prompt, completion, cached = (round(total / len(records)) for total in sums)
    return TriedUse(prompt, completion, cached)


def _list_unsaid(report: TrialReport) -> Iterable[str]:
    """Yield what the trial leaves open."""
    done = [turn for turn in report.turns if turn.done]
    if left := report.waiting or len(report.turns) - len(done):
        yield f"{left} not tried: the trial stopped before"
    reasons = Counter(turn.reason for turn in done if turn.fidelity == "impossible")
    for reason, count in reasons.most_common():
        yield f"{count} impossible to try: {reason or 'the record is not whole'}"
    if invented := sum(turn.fidelity == "invented" for turn in done):
        yield f"{invented} with results that are invented or may differ from the world by now"
    if stopped := sum(turn.fidelity == "stopped" for turn in done):
        yield f"{stopped} stopped at a call that the record does not answer"
    if all(turn.nth == 1 for turn in done):
        yield "every turn was tried once; another run may differ"


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
