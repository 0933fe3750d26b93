"""How chats are called and dated on the screens."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import htpy as h

from orchestrator.extensions.page.html.outside_text import (
    find_plain_text,
    shorten_text,
    show_hidden_characters,
)
from orchestrator.extensions.page.screen_request import OWN
from thinker.protocol.names import format_chat_name

MAX_TITLE = 60  # characters
NEW = "New chat"
WEEK = timedelta(days=7)


def format_chat_title(key: str, sender: str = "", opening: str = "") -> str:
    """Return what a chat is called.

    One of the page is called by its ``opening``, the others by who writes there.
    """
    if not key.startswith(OWN):
        return shorten_text(sender, MAX_TITLE) or show_hidden_characters(format_chat_name(key))
    if opening and not opening.startswith("/"):
        return shorten_text(find_plain_text(opening), MAX_TITLE) or NEW
    user = key.removeprefix(OWN).partition("/")[0]
    return f"a chat of {show_hidden_characters(user)}" if sender or opening else NEW


def format_day(ms: int, now: int, zone: ZoneInfo) -> str:
    """Return the day of an instant: ``Today``, ``Yesterday``, ``Monday``, ``12 March``."""
    day, today = (datetime.fromtimestamp(at / 1000, zone).date() for at in (ms, now))
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day > today - WEEK:
        return f"{day:%A}"
    return f"{day.day} {day:%B}" if day.year == today.year else f"{day.day} {day:%B %Y}"


def render_clock(ms: int, zone: ZoneInfo) -> h.Element:
    """Render the time of day of an instant; a pointer shows all of it."""
    local, utc = (datetime.fromtimestamp(ms / 1000, place) for place in (zone, UTC))
    return h.time(
        datetime=utc.isoformat(timespec="milliseconds"),
        title=f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}",
    )[f"{local:%H:%M}"]
