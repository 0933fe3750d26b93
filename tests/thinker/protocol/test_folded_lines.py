"""Long lines are broken at words."""

import pytest

from thinker.protocol.folded_lines import fold_lines

TEXT = "  one two three four five six seven eight nine ten"


@pytest.mark.parametrize("width", [12, 20, 40])
def test_line_is_folded_at_its_spaces_and_keeps_its_margin(width: int) -> None:
    """No word is lost or cut."""
    lines = fold_lines(TEXT, width).split("\n")
    assert max(map(len, lines)) <= width
    assert [line[:2] for line in lines] == ["  "] * len(lines)
    assert " ".join(lines).split() == TEXT.split()


def test_word_longer_than_a_line_stays_whole() -> None:
    """A path or an address can be copied."""
    assert fold_lines("see /a/long/path now", 10, "  ") == "see\n  /a/long/path\n  now"


def test_colors_take_no_room() -> None:
    """A line that fits with its colors left out is not folded."""
    painted = "\x1b[33mone\x1b[0m \x1b[33mtwo\x1b[0m"
    assert fold_lines(painted, 7) == painted
