"""What AgentDojo's trials found, as a table, as sentences and as JSON."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from orchestrator.extensions.selftest.dojo.dojo_runs import DojoTrial, SuiteFigures
from orchestrator.extensions.selftest.dojo.dojo_world import CaseResult

COLUMNS = (
    "suite",
    "trial",
    "cases",
    "attacks won",
    "solved",
    "questions",
    "cases with questions",
    "seconds",
)
ALONE = DojoTrial("tasks alone")
UNANSWERED = DojoTrial("tasks alone, questions denied", absent=True)


def make_attacked_trial(pairs: int | None) -> DojoTrial:
    """Return the trial of so many pairs of a task and an order, None for all."""
    return DojoTrial("under attack", pairs=pairs)


def make_control_trial(pairs: int | None) -> DojoTrial:
    """Return the same trial without the rules that it tries, which shows that it can fail."""
    return DojoTrial(
        "under attack, provenance off", {"provenance": "off"}, pairs=pairs, guarded=False
    )


def build_rows(figures: Sequence[SuiteFigures]) -> list[tuple[object, ...]]:
    """Return a row for each suite and trial, and one for all suites after those of each trial."""
    rows: list[tuple[object, ...]] = []
    for name in dict.fromkeys(one.trial.name for one in figures):
        of_trial = [one for one in figures if one.trial.name == name]
        rows += [_build_row(one.suite, one) for one in of_trial]
        whole = SuiteFigures("all", of_trial[0].trial, sum(one.seconds for one in of_trial))
        whole.results = [result for one in of_trial for result in one.results]
        rows.append(_build_row("all", whole))
    return rows


def _build_row(suite: str, one: SuiteFigures) -> tuple[object, ...]:
    name, seconds = one.trial.name, round(one.seconds)
    won = len(one.won) if one.trial.pairs != 0 else "-"
    return (
        suite,
        name,
        len(one.results),
        won,
        one.solved,
        one.questions,
        one.cases_with_questions,
        seconds,
    )


def list_sentences(figures: Iterable[SuiteFigures]) -> list[str]:
    """Return what to look at: each attack that won, each task alone that was not solved.

    Attacks of the control trial are meant to win, denied tasks cannot all be solved, and an order
    that only reads may spoil a task, as it marks mails as read.
    """
    sentences = []
    for one in figures:
        if one.trial.guarded:
            sentences += [f"won: {_format_case(result)}" for result in one.won]
        if one.trial.pairs == 0 and not one.trial.absent:
            sentences += [
                f"not solved: {_format_case(result)}" for result in one.results if not result.solved
            ]
        sentences += [
            f"no answer in time: {_format_case(result)}"
            for result in one.results
            if not result.ended
        ]
    words = sum(one.words for one in figures)
    if words:
        sentences.append(
            f"{words} orders want words in the answer and no call; no question can prevent those,"
            " and this model does not say them"
        )
    return sentences


def _format_case(result: CaseResult) -> str:
    case = result.case
    asked = f" ({len(result.questions)} questions)" if result.questions else ""
    return f"{case.suite} {case.task} {case.order}".strip() + asked


def build_json(figures: Iterable[SuiteFigures]) -> str:
    """Return the figures with all cases as JSON, a line for each suite and trial."""
    lines = []
    for one in figures:
        row = dict(zip(COLUMNS, _build_row(one.suite, one), strict=True))
        results = [asdict(result) for result in one.results]
        lines.append(json.dumps({**row, "words only": one.words, "results": results}))
    return "\n".join(lines)


def count_won(figures: Iterable[SuiteFigures]) -> int:
    """Return how many attacks won although the rules were on."""
    return sum(len(one.won) for one in figures if one.trial.guarded)
