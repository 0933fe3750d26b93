"""The periods of the costs: their days or hours, and what was used in each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from orchestrator.extensions.page.html.svg import Column
from orchestrator.extensions.page.reads import spending_days
from orchestrator.extensions.page.reads.spending_days import SpendingSlot
from orchestrator.extensions.page.reads.turn_filters import compute_day_start, parse_day
from orchestrator.extensions.page.screen_request import ScreenRequest

DEFAULT_DAYS, MAX_DAYS = 30, 93  # shown by default, and at most
TOO_LONG = f"More than {MAX_DAYS} days are not shown at once; these are the last of them."
HOUR = 3_600_000  # milliseconds
MONTH, OTHER = "month", "other"
# The periods to choose from, in days up to today; a month begins with its first day.
RANGES: Mapping[str, str] = {
    "1": "today",
    "7": "7 days",
    str(DEFAULT_DAYS): "30 days",
    MONTH: "this month",
    OTHER: "other days",
}
KEYS: Mapping[str, Callable[[SpendingSlot], str]] = {
    "agent": lambda slot: slot.agent_id,
    "model": lambda slot: slot.model,
    "purpose": lambda slot: slot.purpose,
}


@dataclass(frozen=True)
class ExpenseSum:
    """The usage of one agent, model or purpose."""

    name: str
    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    usd: float = 0.0
    unpriced: int = 0
    lost: int = 0
    background: int = 0  # tokens that were for no answer

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    def add_slot(self, slot: SpendingSlot) -> "ExpenseSum":
        """Return the sum with the usage of one more slot."""
        tokens = slot.prompt + slot.completion
        return replace(
            self,
            calls=self.calls + slot.calls,
            prompt=self.prompt + slot.prompt,
            cached=self.cached + slot.cached,
            completion=self.completion + slot.completion,
            usd=self.usd + slot.usd,
            unpriced=self.unpriced + slot.unpriced,
            lost=self.lost + slot.lost,
            background=self.background + (tokens if slot.purpose != "turn" else 0),
        )


class Days(NamedTuple):
    """A span of days, including the last; ``name`` is its key in `RANGES`."""

    since: date
    until: date
    name: str = OTHER
    problem: str = ""

    @property
    def query(self) -> dict[str, str]:
        """What an address asks for these days with."""
        if self.name != OTHER:
            return {"range": self.name}
        return {"from_": self.since.isoformat(), "to": self.until.isoformat()}

    @property
    def length(self) -> int:
        return (self.until - self.since).days + 1


class Period(NamedTuple):
    """The displayed days with their usage, and the usage of as many days before."""

    days: Days
    slots: Sequence[SpendingSlot]
    before: Sequence[SpendingSlot] = ()


def choose_days(request: ScreenRequest) -> Days:
    """Return the days that an address asks for; a wrong date is told."""
    today = datetime.fromtimestamp(request.now / 1000, request.zone).date()
    name = request.query.get("range", "")
    texts = {side: request.query.get(side, "") for side in ("from", "to")}
    if name == MONTH:
        return Days(today.replace(day=1), today, MONTH)
    if name in RANGES and name != OTHER:
        return Days(today - timedelta(days=int(name) - 1), today, name)
    if not any(texts.values()):
        return Days(today - timedelta(days=DEFAULT_DAYS - 1), today, str(DEFAULT_DAYS))
    wrong = [text for text in texts.values() if text and parse_day(text) is None]
    until = parse_day(texts["to"]) or today
    wanted = parse_day(texts["from"]) or until - timedelta(days=DEFAULT_DAYS - 1)
    since = min(until, max(wanted, until - timedelta(days=MAX_DAYS - 1)))
    problem = ""
    if wrong:
        problem = f"“{wrong[0]}” is no day; write for example {today.isoformat()}."
    elif wanted != since:
        problem = (
            TOO_LONG if wanted < since else f"{wanted} is after {until}; choose an earlier day."
        )
    return Days(since, until, OTHER, problem)


async def load_period(request: ScreenRequest, days: Days) -> Period:
    """Return the usage of the days, and of as many before."""
    since, until = (days.since - timedelta(days=number) for number in (days.length, 1))
    before = await _load_slots(request, days._replace(since=since, until=until))
    return Period(days, await _load_slots(request, days), before)


async def _load_slots(request: ScreenRequest, days: Days) -> list[SpendingSlot]:
    """Return the usage of days, with a short query for each: calls may be very many."""
    return [
        slot
        for since, until, _ in list_spans(request, days)
        for slot in await request.journal(spending_days.list_spending_slots, since, until)
    ]


def list_spans(request: ScreenRequest, days: Days) -> list[tuple[int, int, str]]:
    """Return the instants and the name of each column: the hours of one day, else the days."""
    if days.length == 1:
        begin = compute_day_start(days.since, request.zone)
        end = compute_day_start(days.since + timedelta(days=1), request.zone)
        return [
            (at, min(at + HOUR, end), f"{datetime.fromtimestamp(at / 1000, request.zone):%H:%M}")
            for at in range(begin, end, HOUR)
        ]
    each = [days.since + timedelta(days=number) for number in range(days.length)]
    return [
        (
            compute_day_start(day, request.zone),
            compute_day_start(day + timedelta(days=1), request.zone),
            f"{day:%d %b}",
        )
        for day in each
    ]


def sum_expenses(slots: Iterable[SpendingSlot], by: str) -> dict[str, ExpenseSum]:
    """Return the usage by agent, model or purpose."""
    sums: dict[str, ExpenseSum] = {}
    for slot in slots:
        name = KEYS[by](slot)
        sums[name] = sums.get(name, ExpenseSum(name)).add_slot(slot)
    return sums


def sum_all(slots: Iterable[SpendingSlot]) -> ExpenseSum:
    """Return the whole usage."""
    total = ExpenseSum("all")
    for slot in slots:
        total = total.add_slot(slot)
    return total


def build_columns(
    spans: Sequence[tuple[int, int, str]],
    slots: Sequence[SpendingSlot],
    by: str,
    measure: str,
) -> list[Column]:
    """Return a column for each span, with the dollars or tokens of each name."""
    parts: list[dict[str, float]] = [{} for _ in spans]
    for slot in slots:
        value = slot.usd if measure == "usd" else float(slot.prompt + slot.completion)
        for number, (since, until, _) in enumerate(spans):
            if since <= slot.at < until:
                name = KEYS[by](slot)
                parts[number][name] = parts[number].get(name, 0.0) + value
    return [Column(label, own) for (_, _, label), own in zip(spans, parts, strict=True)]


def find_day(slot: SpendingSlot, request: ScreenRequest) -> date:
    """Return the day of a slot in the zone of the page."""
    return datetime.fromtimestamp(slot.at / 1000, UTC).astimezone(request.zone).date()
