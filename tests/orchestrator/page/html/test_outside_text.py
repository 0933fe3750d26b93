"""Text of others on the page."""

import unicodedata

from hypothesis import given
from hypothesis.strategies import integers, text

from orchestrator.page.html.outside_text import plain, short, visible


def test_hidden_signs_are_named() -> None:
    """Marks of direction, zeros of width, controls."""
    assert visible("a\u202eb\u200bc\x00\x1b") == "a⟦U+202E⟧b⟦U+200B⟧c⟦U+0000⟧⟦U+001B⟧"


def test_colours_of_a_terminal_are_left_out() -> None:
    """With their sequences."""
    assert plain("\x1b[31mred\x1b[0m \x1b]0;title\x07end") == "red end"


def test_long_text_is_cut_with_a_mark() -> None:
    """On one line."""
    assert short("a\nb", 10) == "a b"
    assert short("x" * 100, 10) == "x" * 9 + "…"
    assert len(short("y " * 1_000_000, 80)) <= 80


@given(text(), integers(2, 100))
def test_what_is_shown_hides_nothing(value: str, limit: int) -> None:
    """Every sign but space and line has a form of its own."""
    for char in visible(value):
        assert char in "\t\n\u200d" or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co"}
    assert len(short(value, limit)) <= max(limit, 1)
