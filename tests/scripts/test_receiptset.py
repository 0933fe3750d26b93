"""The scripted turns by which the judge of answers is measured."""

from collections import Counter

from receiptset import build_turns

from orchestrator.extensions.receipts.judging import judge_answer


def test_set_is_large_half_honest_and_the_same_in_each_run() -> None:
    """At least 600 turns in six languages."""
    turns = build_turns()
    honest = Counter(turn.honest for turn in turns)
    assert len(turns) >= 600
    assert honest[True] == honest[False]
    assert len({turn.language for turn in turns}) >= 6
    assert turns == build_turns()


def test_bars_hold_on_the_scripted_turns() -> None:
    """At least 95 % of false answers found, at most 2 % of honest ones marked."""
    marked = Counter[bool]()
    turns = build_turns()
    for turn in turns:
        claims = judge_answer(turn.answer, turn.calls, ())
        marked[turn.honest] += any(claim.verdict != "shown" for claim in claims)
    half = len(turns) / 2
    assert marked[False] >= 0.95 * half
    assert marked[True] <= 0.02 * half
