"""Chats are called as people would call them, and days too."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from fakes.screens import html

from orchestrator.extensions.page.screens.chat_names import (
    NEW,
    format_chat_title,
    format_day,
    render_clock,
)

OWN = "web/local/ann/1f/"
NOW = int(datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp() * 1000)  # a Wednesday
DAY = 86_400_000


@pytest.mark.parametrize(
    ("key", "sender", "opening", "title"),
    [
        (OWN, "ann", "plan a trip\nto Lisbon", "plan a trip to Lisbon"),
        (OWN, "ann", "## Trains\n\n**when** do they go?", "Trains when do they go?"),
        (OWN, "ann", "/new", "a chat of ann"),
        (OWN, "", "", NEW),
        ("telegram/1/7/", "Anna", "", "Anna"),
        ("telegram/1/7/", "", "", "telegram:7"),
        ("telegram/1/7/", "a\u202eb", "", "a⟦U+202E⟧b"),
    ],
)
def test_title_is_a_person_or_what_was_asked_first(
    key: str, sender: str, opening: str, title: str
) -> None:
    """Never an id where there is a name."""
    assert format_chat_title(key, sender, opening) == title


@pytest.mark.parametrize(
    ("ago", "day"),
    [
        (0, "Today"),
        (13 * 3_600_000, "Yesterday"),
        (6 * DAY, "Thursday"),
        (7 * DAY, "18 November"),
        (400 * DAY, "21 October 2025"),
    ],
)
def test_day_is_named_from_today(ago: int, day: str) -> None:
    """In the zone of the page, with the year where it is another one."""
    assert format_day(NOW - ago, NOW, ZoneInfo("UTC")) == day


def test_clock_is_short_and_its_tooltip_whole() -> None:
    """In the zone of the page."""
    shown = html(render_clock(NOW, ZoneInfo("Asia/Tokyo")))
    assert ">21:00</time>" in shown
    assert 'title="2026-11-25 21:00:00 JST"' in shown
