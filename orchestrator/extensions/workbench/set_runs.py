"""What a run of a set says: each turn green or red, or why that cannot be told."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.trials import (
    CheckVerdict,
    SavedTurn,
    TrialNumber,
    TrialReport,
    TriedTurn,
)
from orchestrator.extensions.workbench.turn_checks import judge_turn, parse_checks

Outcome: TypeAlias = Literal["green", "red", "open", "impossible"]
SETS_JUDGE = "sets/judge"  # SetQuestion → TrialReport
JUDGED = "judged by "
ALONE = "what a model thinks does not decide; add another check"


class SetQuestion(TrialNumber):
    """A trial that has ended, and the ``tests`` by which models judge its answers.

    ``confirmed`` names a provider that may see them although their agent does not use it.
    """

    tests: tuple[SavedTurn, ...]
    confirmed: str = ""


class SetOutcome(CamelModel):
    """What the runs of one turn say; ``why`` has the reasons, one a line.

    A turn is ``open`` if it could not be tried, and ``impossible`` if it cannot be tried any more.
    ``opinions`` are what models said of the answers, which decides nothing.
    """

    turn: str
    question: str = ""
    outcome: Outcome
    why: str = ""
    opinions: tuple[str, ...] = ()
    verdicts: tuple[CheckVerdict, ...] = ()
    runs: int = 0
    usd: float | None = None
    ms: int = 0


class SetReport(CamelModel):
    """The outcomes of all turns of a set; ``trials`` are the numbers of their runs."""

    name: str
    outcomes: tuple[SetOutcome, ...]
    trials: tuple[int, ...] = ()
    usd: float = 0.0
    problem: str = ""

    def list_outcomes(self, *kinds: Outcome) -> tuple[SetOutcome, ...]:
        """Return the turns with one of some outcomes."""
        return tuple(one for one in self.outcomes if one.outcome in kinds)

    @property
    def is_green(self) -> bool:
        """Whether every turn does what its checks say."""
        return bool(self.outcomes) and not self.list_outcomes("red", "open", "impossible")

    @property
    def summary(self) -> str:
        """The counts of all outcomes, such as ``8 green, 1 red, 1 could not be tried``."""
        words: Mapping[Outcome, str] = {
            "green": "green",
            "red": "red",
            "open": "could not be tried",
            "impossible": "can not be tried any more",
        }
        counts = {word: len(self.list_outcomes(kind)) for kind, word in words.items()}
        return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no turns"


def judge_set(
    tests: Iterable[SavedTurn], runs: Iterable[TriedTurn], times: int = 1, needed: int = 1
) -> tuple[SetOutcome, ...]:
    """Judge the runs of saved turns; each runs ``times``, of which ``needed`` must be green."""
    by_turn: dict[str, list[TriedTurn]] = {}
    for run in runs:
        by_turn.setdefault(run.turn_id, []).append(run)
    return tuple(_judge_runs(test, by_turn.get(test.turn, []), times, needed) for test in tests)


def fill_verdicts(report: TrialReport, tests: Iterable[SavedTurn]) -> TrialReport:
    """Return a trial whose runs have the verdicts of their checks, by default `same calls`."""
    checks = {test.turn: parse_checks(test.checks) for test in tests}
    usual = parse_checks(SavedTurn.model_fields["checks"].default)
    turns = (
        run.model_copy(update={"checks": judge_turn(checks.get(run.turn_id, usual), run)})
        for run in report.turns
    )
    return report.model_copy(update={"turns": tuple(turns)})


def _judge_runs(test: SavedTurn, runs: Sequence[TriedTurn], times: int, needed: int) -> SetOutcome:
    checks = parse_checks(test.checks)
    verdicts = [judge_turn(checks, run) for run in runs]
    outcomes = [_judge_run(run, said) for run, said in zip(runs, verdicts, strict=True)]
    outcomes += ["open"] * (times - len(runs))
    outcome = _combine_outcomes(outcomes, needed)
    telling = [said for said, found in zip(verdicts, outcomes, strict=False) if found == outcome]
    shown = telling[0] if telling else ()
    prices = [run.tried.usd for run in runs]
    return SetOutcome(
        turn=test.turn,
        question=test.question,
        outcome=outcome,
        why="" if outcome == "green" else _explain_outcome(shown),
        opinions=_format_verdicts(one for said in verdicts for one in said if _is_opinion(one)),
        verdicts=shown,
        runs=len(runs),
        usd=None if None in prices or not prices else sum(price or 0 for price in prices),
        ms=sum(run.tried.ms for run in runs),
    )


def _judge_run(run: TriedTurn, verdicts: Sequence[CheckVerdict]) -> Outcome:
    """Return what a run says; what a model judges never decides."""
    met = [one.met for one in verdicts if not _is_opinion(one)]
    if False in met:
        return "red"
    if met and None not in met:
        return "green"
    return "impossible" if run.fidelity == "impossible" else "open"


def _combine_outcomes(outcomes: Sequence[Outcome], needed: int) -> Outcome:
    green = outcomes.count("green")
    if green >= needed:
        return "green"
    if len(outcomes) - outcomes.count("red") < needed:
        return "red"
    return "impossible" if "impossible" in outcomes and "open" not in outcomes else "open"


def _explain_outcome(verdicts: Sequence[CheckVerdict]) -> str:
    deciding = [one for one in verdicts if not _is_opinion(one)]
    failed = [one for one in deciding if one.met is False]
    failed = failed or [one for one in deciding if one.met is None]
    return "\n".join(_format_verdicts(failed)) or (ALONE if verdicts else "it did not run")


def _is_opinion(verdict: CheckVerdict) -> bool:
    return verdict.check.startswith(JUDGED)


def _format_verdicts(verdicts: Iterable[CheckVerdict]) -> tuple[str, ...]:
    """Return different verdicts as lines."""
    return tuple(dict.fromkeys(f"{one.check}: {one.text}" for one in verdicts))
