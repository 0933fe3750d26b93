"""Format times, durations, amounts and states."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import htpy as h

MANY = 10_000  # tokens from which thousands are shown
MILLION = 1_000_000  # tokens
KILO = 1000  # bytes
CENT = 0.01  # dollars
NARROW, FIXED = "\u202f", "\u00a0"  # spaces where no line breaks: a narrow one, a common one
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000  # milliseconds
# Why a turn ended, in words.
ENDS = {
    "cancelled": "stopped",
    "max_steps": "too many steps",
    "max_tokens": "too many tokens",
    "deadline": "took too long",
    "length": "cut at the output limit",
    "refused": "refused by the model",
    "empty": "empty answer",
    "model_error": "the model failed",
    "overflow": "too long for the model",
    "output": "no answer in the right form",
    "tool_choice": "the model did not call the tool",
    "account": "no credit or a wrong key",
}
ANSWERED = "answered"
# What people call the states of turns, agents and messages.
WORDS = {
    "closed": ANSWERED,
    "replied": ANSWERED,
    "dead": "given up",
    "fatal": "cannot start",
    "quarantined": "failed too often",
    "backoff": "starts again soon",
    "stopping": "stops",
    "starting": "starts",
    "failed_permanent": "not delivered",
}
# A sign and a class for each state; the word itself is always shown.
_SIGNS = {
    **dict.fromkeys(
        (
            "running",
            "intent",
            "ok",
            "done",
            "closed",
            "replied",
            "delivered",
            "ran",
            "connected",
            "approved",
            "on",
        ),
        ("●", "good"),
    ),
    **dict.fromkeys(("stopped", "idle", "off", "skipped", "cancelled"), ("○", "quiet")),
    **dict.fromkeys(
        ("waiting", "paused", "queued", "new", "claimed", "starting", "planned"), ("◐", "wait")
    ),
    **dict.fromkeys(
        ("denied", "backoff", "degraded", "unknown", "missed", "sending"), ("▲", "warn")
    ),
    **dict.fromkeys(("failed", "fatal", "dead", "quarantined", "failed_permanent"), ("✕", "bad")),
}


def render_state(word: str, text: str = "") -> h.Element:
    """Render a state as a sign and a word; ``text`` replaces the word."""
    sign, kind = _SIGNS.get(word, ("·", "quiet"))
    shown = text or WORDS.get(word, word)
    return h.span(class_=f"state {kind}")[h.span(aria_hidden="true")[sign], f" {shown}"]


def render_call_state(word: str) -> h.Element:
    """Render the state of a call."""
    return render_state(word, {"planned": "is next", "intent": "runs"}.get(word, ""))


def render_turn_outcome(word: str, end: str | None) -> h.Node:
    """Render the outcome of a turn; a turn without an answer is a failure with a reason."""
    if end in (None, "done", "handed_back"):
        return render_state(word)
    return render_state(
        "cancelled" if end == "cancelled" else "failed", ENDS.get(str(end), str(end))
    )


def render_moment(ms: int, zone: ZoneInfo, *, day: bool = True) -> h.Element:
    """Render an instant in a zone, with UTC as a tooltip."""
    local = datetime.fromtimestamp(ms / 1000, zone)
    utc = datetime.fromtimestamp(ms / 1000, UTC)
    shown = f"{local:%Y-%m-%d %H:%M:%S}" if day else f"{local:%H:%M:%S}"
    return h.time(
        datetime=utc.isoformat(timespec="milliseconds"), title=f"{utc:%Y-%m-%d %H:%M:%S} UTC"
    )[shown]


def render_recent_moment(ms: int, zone: ZoneInfo, now: int) -> h.Element:
    """Render an instant as `render_moment` does, without the day if that is today."""
    day = datetime.fromtimestamp(ms / 1000, zone).date()
    return render_moment(ms, zone, day=day != datetime.fromtimestamp(now / 1000, zone).date())


def format_moment(ms: int, zone: ZoneInfo) -> str:
    """Format an instant in a zone, to the minute."""
    return f"{datetime.fromtimestamp(ms / 1000, zone):%Y-%m-%d %H:%M}"


def format_clock_time(ms: int, zone: ZoneInfo) -> str:
    """Format hours and minutes of an instant in a zone."""
    return f"{datetime.fromtimestamp(ms / 1000, zone):%H:%M}"


def format_age(ms: int, now: int) -> str:
    """Format the time since an instant."""
    return f"{format_span(max(0, now - ms), rough=True)} ago"


def format_time_left(ms: int, now: int) -> str:
    """Format the time left until an instant."""
    return f"{format_span(ms - now, rough=True)} left" if ms > now else "over"


def format_span(ms: float, *, rough: bool = False) -> str:
    """Format a duration: ``5 ms``, ``1.21 s``, ``4 min 12 s``; ``rough`` uses a single unit."""
    if ms < SECOND:
        return f"{ms:.0f} ms" if not rough else f"{max(1, ms / SECOND):.0f} s"
    if ms < MINUTE:
        return f"{ms / SECOND:.0f} s" if rough else f"{ms / SECOND:.2f} s"
    units = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"))
    for (unit, name), (smaller, small) in pairwise(units):
        if ms >= unit:
            rest = int(ms % unit // smaller)
            whole = f"{int(ms // unit)} {name}"
            return whole if rough or not rest else f"{whole} {rest} {small}"
    return f"{ms / SECOND:.0f} s"


def render_elapsed(began: int, ended: int | None, now: int) -> h.Node:
    """Render a duration; a script updates it while it grows."""
    if ended is not None:
        return format_span(max(0, ended - began))
    return h.span(data_elapsed=str(now - began))[format_span(max(0, now - began), rough=True)]


def format_plural(number: int, word: str) -> str:
    """Format a count with its noun: ``1 part``, ``2 parts``."""
    return f"{format_count(number)} {word}{'' if number == 1 else 's'}"


def format_count(number: int) -> str:
    """Format a number with narrow spaces between thousands, at which no line breaks."""
    return f"{number:,}".replace(",", NARROW)


def format_tokens(number: int) -> str:
    """Format a number of tokens, in thousands from 10,000 on, in millions from one on."""
    if number >= MILLION:
        return f"{number / MILLION:.1f}{NARROW}M"
    return f"{number / 1000:.0f}{NARROW}k" if number >= MANY else format_count(number)


def format_usd(amount: float | None) -> str:
    """Format an amount of dollars; None means a model without a known price."""
    if amount is None:
        return "unknown"
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def format_round_usd(amount: float) -> str:
    """Format an amount of dollars in cents; one of less than a cent with more digits."""
    return f"${amount:.4f}" if 0 < amount < CENT else f"${amount:.2f}"


def format_size(number: int) -> str:
    """Format a number of bytes."""
    if number < KILO:
        return f"{number} B"
    amount = float(number)
    for unit in ("KB", "MB"):
        amount /= KILO
        if amount < KILO:
            return f"{amount:.1f} {unit}"
    return f"{amount / KILO:.1f} GB"
