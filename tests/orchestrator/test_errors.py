"""Sentences of errors."""

import pytest

from orchestrator.errors import MAX_NAMED, join_names


@pytest.mark.parametrize(
    ("count", "left_out", "end"),
    [(1, 0, "a000"), (MAX_NAMED, 0, "a019"), (10_000, 0, "and 9,980 more"), (1, 7, "and 7 more")],
)
def test_of_many_names_the_first_ones_are_told(count: int, left_out: int, end: str) -> None:
    """In order, and how many more there are."""
    names = {f"a{number:03}" for number in range(count)}
    text = join_names(names, left_out)
    assert text.startswith("a000")
    assert text.endswith(end)
    assert text.count("a") <= MAX_NAMED + 1


def test_no_names_are_no_text() -> None:
    """The caller says what that means."""
    assert join_names(()) == ""
