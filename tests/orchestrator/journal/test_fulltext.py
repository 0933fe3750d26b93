"""Ranking and the comparison of sentences; the reference's own cases are in vectors/."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_cases import cases

from orchestrator.journal import fulltext


def scores(value: dict[str, float]) -> dict[int, float]:
    """Ids are numbers with us; JSON keys are text."""
    return {int(key): score for key, score in value.items()}


@pytest.mark.parametrize(("name", "given_", "expected"), cases("memory_ranking"))
def test_scores_are_normalised_and_merged_as_in_the_reference(
    name: str, given_: dict[str, Any], expected: Any
) -> None:
    """The area memory_ranking, through the functions that every search uses."""
    if name.startswith("normalizeScores"):
        assert fulltext.normalized(scores(given_)) == pytest.approx(scores(expected))
        return
    ranked = fulltext.hybrid_rank(scores(given_["vector"]), scores(given_["text"]))
    assert [number for number, _ in ranked] == [row["id"] for row in expected]
    assert [score for _, score in ranked] == pytest.approx([row["score"] for row in expected])


SCORES = st.dictionaries(st.integers(1, 9), st.floats(-1e6, 1e6))


@given(SCORES, SCORES)
def test_everything_found_is_ranked_once_between_0_and_1(
    first: dict[int, float], second: dict[int, float]
) -> None:
    """Nothing gets lost, and the order is that of the scores."""
    ranked = fulltext.hybrid_rank(first, second)
    assert sorted(number for number, _ in ranked) == sorted(first.keys() | second.keys())
    found = [score for _, score in ranked]
    assert found == sorted(found, reverse=True)
    assert all(0 <= score <= 1 for score in found)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("User likes green tea", "The user likes to drink green tea", 1.0),
        ("User likes green tea", "User likes black coffee", 0.0),
        ("Works at Acme in Berlin", "Works at Globex in Berlin", 2 / 3),
        ("用户住在上海市", "用户住在北京市", 3 / 6),
        ("the", "User likes tea", 0.0),
    ],
)
def test_overlap_is_the_share_of_the_smaller_sentence(one: str, other: str, share: float) -> None:
    """Words that most facts have do not count; scripts without spaces are compared by pairs."""
    found = fulltext.overlap(fulltext.keywords(one), fulltext.keywords(other))
    assert found == pytest.approx(share)
