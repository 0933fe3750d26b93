"""Lists of words, however they are written."""

import pytest

from thinker.formats.word_lists import is_blank, parse_words


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", " b ", ""], ["a", "b"]),
        ("a", ["a"]),
        ("a, b", ["a", "b"]),
        ("code review, audit,", ["code review", "audit"]),
        ('["a"]', ["a"]),
        (' ["a", "b"] ', ["a", "b"]),
        ("[]", []),
        ("", []),
        (" ", []),
        ("None", []),
        (None, []),
        (5, []),
        (["a", 5, None], ["a"]),
        ('["a', ['["a']),
        ("[1]", []),
    ],
)
def test_list_is_read_in_every_form(value: object, expected: list[str]) -> None:
    """Blanks are none, and broken JSON stays as it is written."""
    assert parse_words(value) == expected


def test_blank_is_what_models_write_for_no_value() -> None:
    """A number or an empty list is a value."""
    assert all(map(is_blank, (None, "", " ", "null", "N/A")))
    assert not any(map(is_blank, (0, False, [], "no")))
