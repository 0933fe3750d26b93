"""Notices say what went wrong, and when to try again."""

import pytest

from thinker.protocol.notices import FAILURE_TEXTS, FailureKind, format_failure


def test_each_failure_has_a_text_of_its_own() -> None:
    """A timeout, a dead server and a cut answer read differently."""
    texts = [format_failure(kind) for kind in FailureKind]
    assert len(set(texts)) == len(FailureKind) == len(FAILURE_TEXTS)
    assert not any("{" in text for text in texts)


@pytest.mark.parametrize(
    ("wait", "when"),
    [
        (None, "in a moment"),
        (0.5, "in a moment"),
        (37.2, "in 37 seconds"),
        (121, "in 3 minutes"),
        (36_000, "in 600 minutes"),
    ],
)
def test_a_rate_limit_says_when_to_try_again(wait: float | None, when: str) -> None:
    """The provider's time is told as a person says it."""
    assert format_failure(FailureKind.RATE_LIMITED, wait).endswith(f"Please try again {when}.")
