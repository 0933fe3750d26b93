"""Amounts in words."""

import re
from zoneinfo import ZoneInfo

import pytest

from orchestrator.extensions.page.html import figures


@pytest.mark.parametrize(
    ("ms", "words", "rough"),
    [
        (5, "5 ms", "1 s"),
        (1210, "1.21 s", "1 s"),
        (252_000, "4 min 12 s", "4 min"),
        (7_200_000, "2 h", "2 h"),
        (273_600_000, "3 d 4 h", "3 d"),
    ],
)
def test_span_is_told_in_two_units(ms: int, words: str, rough: str) -> None:
    """Or in one."""
    assert figures.format_span(ms) == words
    assert figures.format_span(ms, rough=True) == rough


def test_amounts_are_short() -> None:
    """An unknown price is no zero."""
    assert [figures.format_usd(x) for x in (None, 0, 0.00312, 2.5)] == [
        "unknown",
        "$0.00",
        "$0.0031",
        "$2.50",
    ]
    assert [figures.format_size(x) for x in (5, 1500, 2_500_000, 3_000_000_000)] == [
        "5 B",
        "1.5 KB",
        "2.5 MB",
        "3.0 GB",
    ]
    assert figures.format_tokens(12_345) == "12\u202fk"
    assert figures.format_tokens(1_150_000) == "1.1\u202fM"
    assert figures.format_time_left(5000, 6000) == "over"
    assert figures.format_age(0, 61_000) == "1 min ago"


def test_moment_has_its_zone_and_utc() -> None:
    """UTC is for those who point at it."""
    shown = str(figures.render_moment(0, ZoneInfo("Europe/Warsaw")))
    assert "1970-01-01 01:00:00" in shown
    assert 'title="1970-01-01 00:00:00 UTC"' in shown


@pytest.mark.parametrize(
    ("state", "end", "shown"),
    [
        ("closed", "done", "● answered"),
        ("running", None, "● running"),
        ("cancelled", "cancelled", "○ stopped"),
        ("closed", "model_error", "✕ the model failed"),
        ("closed", "overflow", "✕ too long for the model"),
        ("failed", "of another version", "✕ of another version"),
    ],
)
def test_turn_without_an_answer_says_why(state: str, end: str | None, shown: str) -> None:
    """In words and red, whatever its state in the journal."""
    text = str(figures.render_turn_outcome(state, end))
    assert re.sub("<[^>]*>", "", text) == shown
    assert ("bad" in text) is shown.startswith("✕")


def test_number_and_its_noun_agree() -> None:
    """One has no plural."""
    assert [figures.format_plural(number, "part") for number in (0, 1, 2)] == [
        "0 parts",
        "1 part",
        "2 parts",
    ]


def test_state_is_a_sign_and_a_word() -> None:
    """Never a colour alone; an unknown one is shown as it is."""
    assert "●</span> running" in str(figures.render_state("running"))
    assert "new-one" in str(figures.render_state("new-one"))
