"""Answers that only repeat themselves."""

import pytest

from thinker.models.repetition import RepetitionWatch

LINE = "The capital of France is Paris.\n"


def watched(text: str, step: int = 7) -> int | None:
    """The first repetition found while the text grows."""
    watch = RepetitionWatch()
    grown = (watch.find_repetition(text[:end]) for end in range(step, len(text) + step, step))
    return next((start for start in grown if start is not None), None)


@pytest.mark.parametrize("part", [LINE, "ha", "a", f"1. {LINE}2. Another line that is here.\n"])
def test_a_part_that_comes_again_and_again_is_found_at_its_second_time(part: str) -> None:
    """Everything before that is kept, with the part once."""
    start = watched("Once upon a time: " + part * 2000)
    assert start is not None
    assert ("Once upon a time: " + part * 2000)[:start] == "Once upon a time: " + part


@pytest.mark.parametrize(
    "text",
    [
        LINE * 16,
        "\n".join(f"| {number} | {number * 7} |" for number in range(900)),
        "-" * 400 + "\n" + " ".join(str(number * number) for number in range(900)),
        " " * 5000,
        "word " * 130 + "and an end",
    ],
)
def test_tables_rulers_and_refrains_are_no_repetition(text: str) -> None:
    """They are short, or never twice the same."""
    assert watched(text) is None
