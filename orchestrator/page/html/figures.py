"""Times, spans, amounts and states in words."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import htpy as h

MANY = 10_000  # tokens that are told in thousands
KILO = 1000  # bytes
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000  # milliseconds
# Why a turn ended, in words.
ENDS = {
    "cancelled": "stopped",
    "max_steps": "too many steps",
    "max_tokens": "too many tokens",
    "deadline": "took too long",
    "length": "cut at the output limit",
    "refused": "refused by the model",
    "empty": "the model said nothing",
    "model_error": "the model failed",
    "overflow": "too long for the model",
    "output": "no answer in the right form",
    "tool_choice": "the model did not call the tool",
    "account": "no credit or a wrong key",
}
# A sign and a class for each state; the word itself is always shown.
_SIGNS = {
    **dict.fromkeys(
        ("running", "intent", "ok", "done", "closed", "replied", "delivered", "ran"), ("●", "good")
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


def state(word: str, text: str = "") -> h.Element:
    """Show a state as a sign and a word; ``text`` replaces the word."""
    sign, kind = _SIGNS.get(word, ("·", "quiet"))
    return h.span(class_=f"state {kind}")[h.span(aria_hidden="true")[sign], f" {text or word}"]


def call_state(word: str) -> h.Element:
    """Show the state of a call."""
    return state(word, {"planned": "is next", "intent": "runs"}.get(word, ""))


def outcome(word: str, end: str | None) -> h.Node:
    """Show the state of a turn; one that ended without an answer is a failure with its reason."""
    if end in (None, "done", "handed_back"):
        return state(word, {"closed": "answered", "replied": "answered"}.get(word, ""))
    return state("cancelled" if end == "cancelled" else "failed", ENDS.get(str(end), str(end)))


def moment(ms: int, zone: ZoneInfo, *, day: bool = True) -> h.Element:
    """Show an instant in a zone, with UTC for those who point at it."""
    local = datetime.fromtimestamp(ms / 1000, zone)
    utc = datetime.fromtimestamp(ms / 1000, UTC)
    shown = f"{local:%Y-%m-%d %H:%M:%S}" if day else f"{local:%H:%M:%S}"
    return h.time(
        datetime=utc.isoformat(timespec="milliseconds"), title=f"{utc:%Y-%m-%d %H:%M:%S} UTC"
    )[shown]


def ago(ms: int, now: int) -> str:
    """Say how long ago an instant was."""
    return f"{span(max(0, now - ms), rough=True)} ago"


def left(ms: int, now: int) -> str:
    """Say how long it is until an instant."""
    return f"{span(ms - now, rough=True)} left" if ms > now else "over"


def span(ms: float, *, rough: bool = False) -> str:
    """Say a span: ``5 ms``, ``1.21 s``, ``4 min 12 s``, ``3 d 4 h``; ``rough`` in one unit."""
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


def elapsed(began: int, ended: int | None, now: int) -> h.Node:
    """Say how long something took; while it goes on, a script counts on."""
    if ended is not None:
        return span(max(0, ended - began))
    return h.span(data_elapsed=str(now - began))[span(max(0, now - began), rough=True)]


def many(number: int, word: str) -> str:
    """Say how many there are: ``1 part``, ``2 parts``."""
    return f"{count(number)} {word}" if number == 1 else f"{count(number)} {word}s"


def count(number: int) -> str:
    """Say a number with thin spaces between thousands."""
    return f"{number:,}".replace(",", "\u2009")


def tokens(number: int) -> str:
    """Say a number of tokens, in thousands from 10,000 on."""
    return f"{number / 1000:.0f} k" if number >= MANY else count(number)


def usd(amount: float | None) -> str:
    """Say an amount of dollars; None stands for a model without a known price."""
    if amount is None:
        return "unknown"
    return f"${amount:.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def size(number: int) -> str:
    """Say a number of bytes."""
    if number < KILO:
        return f"{number} B"
    amount = float(number)
    for unit in ("KB", "MB"):
        amount /= KILO
        if amount < KILO:
            return f"{amount:.1f} {unit}"
    return f"{amount / KILO:.1f} GB"
