"""Ranking; the reference's own cases: tests/test_vectors.py."""

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


def test_no_more_of_a_text_is_read_than_its_first_terms_take() -> None:
    """Nothing else runs while a long text is searched in one go."""
    terms = iter(["tea", "tea", "milk", "honey", "salt"])
    assert fulltext.take_first_terms(terms, 2) == ["tea", "milk"]
    assert next(terms) == "honey"
