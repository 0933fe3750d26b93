"""What the filters of the turns mean: the words of the screen, days, durations and amounts."""

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from orchestrator.extensions.page.html.figures import ANSWERED, ENDS, WORDS
from orchestrator.journal.db.database import Database, build_distinct_query
from orchestrator.journal.inspect.turn_search import FILTERS

Condition: TypeAlias = tuple[str, object]  # as of `turn_search.FILTERS`, with its value
MAX_TURNS = 500  # newest turns whose tools are offered as choices
UNANSWERED, UNASKED = "without an answer", "no model was asked"
GOOD_ENDS = "('done','handed_back')"
# Words for states and ends that no single value of the journal stands for.
OUTCOMES: Mapping[str, str] = {
    ANSWERED: (
        f"state IN('closed','replied') AND (stop_reason IS NULL OR stop_reason IN{GOOD_ENDS})"
    ),
    UNANSWERED: (
        "state NOT IN('running','waiting') AND ifnull(stop_reason, 'failed')"
        f" NOT IN('cancelled',{GOOD_ENDS[1:]} AND (stop_reason IS NOT NULL OR"
        " state NOT IN('closed','replied'))"
    ),
    UNASKED: (
        "stop_reason = 'model_error' AND NOT EXISTS(SELECT 1 FROM step WHERE turn_id = turn.id)"
        " AND NOT EXISTS(SELECT 1 FROM model_call WHERE turn_id = turn.id)"
    ),
}
STATES = {words: name for name, words in {**WORDS, **ENDS}.items() if words != ANSWERED}
WEEK = "7 days"
OFFERED_DAYS = 14
DAYS = {"today": (0, 1), "yesterday": (-1, 0), WEEK: (-6, 1)}  # from and to, in days from today
NUMBERS = {
    "longer": "“{value}” is no number of seconds; write for example 5 or 2.5.",
    "dearer": "“{value}” is no amount in dollars; write for example 0.05.",
}
WRONG_DAY = "“{value}” is no day; write for example 2026-01-31, today or yesterday."


class TurnQuery(NamedTuple):
    """The filters of an address: those of the journal, further ones, and what is wrong."""

    wanted: Mapping[str, str]
    also: list[Condition]
    problems: dict[str, str]


class TurnChoices(NamedTuple):
    """What the turns have to choose from."""

    agents: list[str]
    models: list[str]
    tools: list[str]


def parse_turn_query(query: Mapping[str, str], zone: ZoneInfo, now: int) -> TurnQuery:
    """Return the filters of an address; a wrong value is left out, and told."""
    wanted = {name: value for name in FILTERS if (value := query.get(name, "").strip())}
    also: list[Condition] = []
    problems: dict[str, str] = {}
    for name in NUMBERS.keys() & wanted.keys():
        number = _parse_amount(wanted[name])
        if number is None:
            problems[name] = NUMBERS[name].format(value=wanted.pop(name))
        else:
            wanted[name] = str(number)
    state = wanted.get("state", "")
    if state in OUTCOMES:
        also.append((OUTCOMES[wanted.pop("state")], None))
    elif state:
        wanted["state"] = STATES.get(state, state)
    day = query.get("day", "").strip()
    span = _find_days(day, zone, now) if day else None
    if span is not None:
        also += [("started_at >= :value", span[0]), ("started_at < :value", span[1])]
    elif day:
        problems["day"] = WRONG_DAY.format(value=day)
    return TurnQuery(wanted, also, problems)


def list_turn_choices(db: Database) -> TurnChoices:
    """Return the agents and models of all turns, and the tools of the newest."""
    tools = db.execute(
        "SELECT DISTINCT name FROM step WHERE kind = 'tool'"
        " AND turn_id IN (SELECT id FROM turn ORDER BY id DESC LIMIT ?) ORDER BY name",
        (MAX_TURNS,),
    )
    models = db.execute(
        "SELECT DISTINCT model FROM model_call WHERE turn_id IN"
        " (SELECT id FROM turn ORDER BY id DESC LIMIT ?) ORDER BY model",
        (MAX_TURNS,),
    )
    agents = db.execute(build_distinct_query("model_call", "agent_id", "true"))
    return TurnChoices(
        [str(name) for (name,) in agents],
        [str(name) for (name,) in models],
        [str(name) for (name,) in tools],
    )


def list_days_before(zone: ZoneInfo, now: int) -> list[str]:
    """Return the days before yesterday that a list offers, the newest first."""
    today = datetime.fromtimestamp(now / 1000, zone).date()
    return [(today - timedelta(days=number)).isoformat() for number in range(2, OFFERED_DAYS)]


def compute_day_start(day: date, zone: ZoneInfo) -> int:
    """Return the instant at which a day begins in a zone, in milliseconds."""
    return int(datetime.combine(day, time(), zone).astimezone(UTC).timestamp() * 1000)


def parse_day(text: str) -> date | None:
    """Return the day of a text such as 2026-01-31, of a year that a clock may show."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if date(1971, 1, 1) <= found < date(2200, 1, 1) else None


def _find_days(text: str, zone: ZoneInfo, now: int) -> tuple[int, int] | None:
    today = datetime.fromtimestamp(now / 1000, zone).date()
    if text in DAYS:
        since, until = (today + timedelta(days=number) for number in DAYS[text])
    else:
        found = parse_day(text)
        if found is None:
            return None
        since, until = found, found + timedelta(days=1)
    return compute_day_start(since, zone), compute_day_start(until, zone)


def _parse_amount(text: str) -> float | None:
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        return None
    return found if math.isfinite(found) and found >= 0 else None
