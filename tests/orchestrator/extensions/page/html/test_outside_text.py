"""Text of others on the page."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis.strategies import integers, text

from orchestrator.extensions.page.html.outside_text import (
    find_plain_text,
    list_hidden_characters,
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)


def test_hidden_signs_are_named() -> None:
    """Marks of direction, zeros of width, controls."""
    assert (
        show_hidden_characters("a\u202eb\u200bc\x00\x1b") == "a⟦U+202E⟧b⟦U+200B⟧c⟦U+0000⟧⟦U+001B⟧"
    )


def test_colours_of_a_terminal_are_left_out() -> None:
    """With their sequences."""
    assert strip_terminal_codes("\x1b[31mred\x1b[0m \x1b]0;title\x07end") == "red end"


def test_long_text_is_cut_with_a_mark() -> None:
    """On one line."""
    assert shorten_text("a\nb", 10) == "a b"
    assert shorten_text("x" * 100, 10) == "x" * 9 + "…"
    assert len(shorten_text("y " * 1_000_000, 80)) <= 80


@given(text(), integers(2, 100))
def test_what_is_shown_hides_nothing(value: str, limit: int) -> None:
    """Every sign but space and line has a form of its own."""
    for char in show_hidden_characters(value):
        assert char in "\t\n\u200d" or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co"}
    assert len(shorten_text(value, limit)) <= max(limit, 1)


def test_hidden_characters_of_a_text_are_listed_once() -> None:
    """A text without any has none."""
    assert list_hidden_characters("a\u202eb\u202e\x07") == ["⟦U+202E⟧", "⟦U+0007⟧"]
    assert list_hidden_characters("plain\n\ttext") == []


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("**Bold** and `code`", "Bold and code"),
        ("# Trains\n\n| a | b |\n|---|---|\n| 1 | 2 |", "Trains a b 1 2"),
        ("- one\n- two\n> said", "one two said"),
        ("see [the list](https://trains.example)", "see the list"),
        ("```python\nx = a_b * 2\n```", "x = a_b * 2"),
        ("snake_case_name stays, 3 * 4 too", "snake_case_name stays, 3 * 4 too"),
    ],
)
def test_message_in_a_list_is_text_and_no_markdown(markdown: str, plain: str) -> None:
    """Its signs say nothing there."""
    assert " ".join(find_plain_text(markdown).split()) == plain
