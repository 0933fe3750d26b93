"""Ranking and the comparison of sentences; the reference's own cases: tests/test_vectors.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.journal.memory import fulltext

SCORES = st.dictionaries(st.integers(1, 9), st.floats(-1e6, 1e6))


@given(SCORES, SCORES)
def test_everything_found_is_ranked_once_between_0_and_1(
    first: dict[int, float], second: dict[int, float]
) -> None:
    """Nothing gets lost, and the order is that of the scores."""
    ranked = fulltext.merge_scores(first, second)
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
    found = fulltext.measure_overlap(
        fulltext.extract_keywords(one), fulltext.extract_keywords(other)
    )
    assert found == pytest.approx(share)


def test_no_more_of_a_text_is_read_than_its_first_terms_take() -> None:
    """Nothing else runs while a long text is searched in one go."""
    terms = iter(["tea", "tea", "milk", "honey", "salt"])
    assert fulltext.take_first_terms(terms, 2) == ["tea", "milk"]
    assert next(terms) == "honey"
