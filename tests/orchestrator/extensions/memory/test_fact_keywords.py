"""Keywords of facts: what two sentences have in common."""

import pytest

from orchestrator.extensions.memory import fact_keywords


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
    found = fact_keywords.measure_overlap(
        fact_keywords.extract_keywords(one), fact_keywords.extract_keywords(other)
    )
    assert found == pytest.approx(share)
