"""Due times: daylight saving, fields, intervals, what has passed, clocks that were set back."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.schedules.describe import describe_trigger
from orchestrator.schedules.times import (
    MINUTE,
    Cron,
    Interval,
    Once,
    ScheduleError,
    check_cron,
    find_first_due,
    find_next_due,
    is_fast,
    parse_trigger,
    realign_due,
)

WARSAW, NEW_YORK = ZoneInfo("Europe/Warsaw"), ZoneInfo("America/New_York")
DAY = 1440 * MINUTE
# Expression, zone, the day before, what comes: local time with its offset.
DAYLIGHT_SAVING = [
    # Warsaw leaps from 02:00 to 03:00 on 2027-03-28 and falls from 03:00 to 02:00 on 2027-10-31.
    ("30 2 * * *", WARSAW, "2027-03-27", ["28 03:00+0200", "29 02:30+0200"]),
    ("0 2 * * *", WARSAW, "2027-03-27", ["28 03:00+0200", "29 02:00+0200"]),
    ("15,45 2 * * *", WARSAW, "2027-03-27", ["28 03:00+0200", "29 02:15+0200"]),
    ("0 3 * * *", WARSAW, "2027-03-27", ["28 03:00+0200", "29 03:00+0200"]),
    ("59 1 * * *", WARSAW, "2027-03-27", ["28 01:59+0100", "29 01:59+0200"]),
    ("30 2 * * *", WARSAW, "2027-10-30", ["31 02:30+0200", "01 02:30+0100"]),
    ("59 2 * * *", WARSAW, "2027-10-30", ["31 02:59+0200", "01 02:59+0100"]),
    ("0 3 * * *", WARSAW, "2027-10-30", ["31 03:00+0100", "01 03:00+0100"]),
    ("0 30 2 * * *", WARSAW, "2027-03-27", ["28 03:00+0200", "29 02:30+0200"]),
    ("0 30 2 * * *", WARSAW, "2027-10-30", ["31 02:30+0200", "01 02:30+0100"]),
    # New York leaps from 02:00 to 03:00 on 2026-03-08 and falls from 02:00 to 01:00 on 2026-11-01.
    ("30 2 * * *", NEW_YORK, "2026-03-07", ["08 03:00-0400", "09 02:30-0400"]),
    ("30 1 * * *", NEW_YORK, "2026-03-07", ["08 01:30-0500", "09 01:30-0400"]),
    ("30 1 * * *", NEW_YORK, "2026-10-31", ["01 01:30-0400", "02 01:30-0500"]),
    ("0 1 * * *", NEW_YORK, "2026-10-31", ["01 01:00-0400", "02 01:00-0500"]),
    ("30 2 * * *", NEW_YORK, "2026-10-31", ["01 02:30-0500", "02 02:30-0500"]),
    ("@daily", NEW_YORK, "2026-10-31", ["01 00:00-0400", "02 00:00-0500"]),
    ("30 1 * * SUN", NEW_YORK, "2026-10-31", ["01 01:30-0400", "08 01:30-0500"]),
]


def ms(text: str, zone: ZoneInfo | None = None) -> int:
    """An ISO time in milliseconds; a local one in UTC or ``zone``."""
    return round(datetime.fromisoformat(text).replace(tzinfo=zone or UTC).timestamp() * 1000)


def instants(expression: str, zone: ZoneInfo, after: int, count: int) -> list[datetime]:
    """The next ones in local time."""
    found = []
    for _ in range(count):
        at = find_next_due(Cron(expression), zone, after)
        assert at is not None
        found.append(datetime.fromtimestamp(at / 1000, zone))
        after = at
    return found


@pytest.mark.parametrize(("expression", "zone", "day", "expected"), DAYLIGHT_SAVING)
def test_fixed_local_time_comes_once_on_the_day_of_a_transition(
    expression: str, zone: ZoneInfo, day: str, expected: list[str]
) -> None:
    """One that does not exist at the first after it; one that exists twice the first time."""
    found = instants(expression, zone, ms(f"{day}T12:00", zone), 2)
    assert [f"{at:%d %H:%M%z}" for at in found] == expected


@pytest.mark.parametrize("zone", [WARSAW, NEW_YORK])
@pytest.mark.parametrize("month", [3, 10])
def test_hourly_task_follows_elapsed_time_through_a_transition(zone: ZoneInfo, month: int) -> None:
    """No hour without a run, none with two."""
    found = instants("0 * * * *", zone, ms(f"2026-{month:02}-01T00:00"), 24 * 40)
    gaps = {round(b.timestamp() - a.timestamp()) for a, b in pairwise(found)}
    assert gaps == {3600}


@pytest.mark.parametrize("minute", [0, 15, 29, 30, 31, 59])
def test_second_occurrence_of_a_local_time_is_not_due_again(minute: int) -> None:
    """Asked in the hour that comes twice, after the first 02:30 was."""
    second = datetime(2027, 10, 31, 2, minute, fold=1, tzinfo=WARSAW)
    at = find_next_due(Cron("30 2 * * *"), WARSAW, round(second.timestamp() * 1000))
    assert at == ms("2027-11-01T02:30", WARSAW)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 9 * * *", "2026-03-01 09:00:00"),
        ("15 0 9 * * *", "2026-03-01 09:00:15"),
        ("*/20 * * * * *", "2026-02-28 12:00:20"),
        ("0 0 9 1 1 * 2030", "2030-01-01 09:00:00"),
        ("0 0 9 1 1 * 2028,2031-2032", "2028-01-01 09:00:00"),
        ("0 0 9 * * * *", "2026-03-01 09:00:00"),
        ("0 9 L * *", "2026-03-31 09:00:00"),
        ("0 9 LW * *", "2026-03-31 09:00:00"),
        ("0 9 * * 5L", "2026-03-27 09:00:00"),
        ("0 9 * * MON#2", "2026-03-09 09:00:00"),
        ("0 9 * jan-mar mon", "2026-03-02 09:00:00"),
        ("0 9 ? * 7", "2026-03-01 09:00:00"),
        ("@hourly", "2026-02-28 13:00:00"),
        (" @Weekly ", "2026-03-01 00:00:00"),
        ("@monthly", "2026-03-01 00:00:00"),
        ("@yearly", "2027-01-01 00:00:00"),
    ],
)
def test_every_form_of_expression_is_understood(expression: str, expected: str) -> None:
    """Five fields, six with seconds, seven with a year, names, ``L``, macros."""
    check_cron(expression)
    (found,) = instants(expression, ZoneInfo("UTC"), ms("2026-02-28T12:00"), 1)
    assert f"{found:%Y-%m-%d %H:%M:%S}" == expected


@pytest.mark.parametrize(
    "expression",
    ["@reboot", "0 0 31 2 *", "0 0 9 1 1 * 1999", "0 0 9 1 1 * x", "9" * 5000, "* * * * * * * *"],
)
def test_expression_that_never_comes_or_is_none_is_refused(expression: str) -> None:
    """With what it was, shortened, and an example."""
    with pytest.raises(ScheduleError, match="Invalid cron expression") as refused:
        check_cron(expression)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("seconds", ["*", "*/10", "0,30", "0-1"])
def test_expression_of_several_seconds_is_fast(seconds: str) -> None:
    """With or without a year; one second is not."""
    for rest in ("* * * * *", "5 9 * * * 2099"):
        assert is_fast(Cron(f"{seconds} {rest}"))
        assert not is_fast(Cron(f"30 {rest}"))
    assert not is_fast(Cron("* * * * *"))
    assert not is_fast(Interval(1))


@given(st.text(alphabet="0123456789*/,-L#W?@ JANMODFI²", max_size=40))
def test_no_text_breaks_the_check(text: str) -> None:
    """It is an expression, or it is refused."""
    try:
        check_cron(text)
    except ScheduleError:
        return
    assert find_next_due(Cron(text), WARSAW, ms("2000-01-01T00:00")) is not None


@pytest.mark.parametrize(
    "config",
    [
        {"interval_minutes": 0},
        {"interval_minutes": 1.5},
        {"interval_minutes": True},
        {"interval_minutes": "often"},
        {"interval_minutes": 1e300},
        {"at": "not-a-date"},
        {"at": "in 5e9 minutes"},
        {"schedule": ["0 9 * * *"]},
    ],
)
def test_unusable_trigger_is_refused(config: dict[str, object]) -> None:
    """The message says what to write."""
    with pytest.raises(ScheduleError, match=r"write|must be"):
        parse_trigger(config, WARSAW)  # type: ignore[arg-type]  # what a file holds may be anything


def test_trigger_is_read_in_its_zone() -> None:
    """A local time is the user's; no trigger at all is once a day."""
    assert parse_trigger({"at": "2026-02-12T09:00"}, WARSAW) == Once(ms("2026-02-12T08:00"))
    assert parse_trigger({"at": "2026-02-12T09:00Z"}, WARSAW) == Once(ms("2026-02-12T09:00"))
    assert parse_trigger({}, WARSAW) == Interval(1440)
    assert describe_trigger(Interval(90), WARSAW) == "every 90 min"
    assert (
        describe_trigger(Cron("0 8 * * *"), ZoneInfo("America/Detroit"))
        == "8:00 AM daily (Detroit)"
    )
    text = describe_trigger(Once(ms("2026-02-12T08:00")), WARSAW)
    assert text == "once, Thu 2026-02-12 09:00 (Europe/Warsaw)"


def test_clock_that_was_set_back_does_not_stop_a_task() -> None:
    """What was due a year from now is due as its schedule says."""
    now = ms("2026-02-01T08:00")
    zone = ZoneInfo("UTC")
    assert realign_due(Cron("0 9 * * *"), zone, now + 400 * DAY, now) == now + 60 * MINUTE
    assert realign_due(Interval(30), zone, now + DAY, now) == now + 30 * MINUTE
    assert realign_due(Interval(30), zone, now + MINUTE, now) == now + MINUTE
    assert realign_due(Once(now + DAY), zone, now + DAY, now) == now + DAY


def test_once_is_due_at_its_instant() -> None:
    """And never again."""
    assert find_first_due(Once(DAY), WARSAW, DAY + 1) == DAY
    assert find_next_due(Once(DAY), WARSAW, DAY - 1) is None


def test_steps_that_a_field_cannot_have_are_refused() -> None:
    """They would silently mean something else: every 90 minutes once an hour."""
    for expression in ("*/61 * * * *", "0 */25 * * *", "0 0 */1 */13 *", "30 */90 * * * *"):
        with pytest.raises(ScheduleError, match="use interval_minutes"):
            check_cron(expression)
    check_cron("*/30 */12 */15 */6 */3")


@pytest.mark.parametrize(
    ("expression", "never"),
    [
        ("0 0 30 2 *", True),
        ("0 0 31 4,6,9,11 *", True),
        ("0 0 0 31 2 *", True),
        ("0 0 0 1 1 * 1999", True),
        ("0 0 32 2 *", False),
        ("0 0 x 2 *", False),
    ],
)
def test_day_that_no_month_has_is_told_apart_from_a_wrong_one(
    expression: str, *, never: bool
) -> None:
    """The first never comes, the other is none."""
    with pytest.raises(ScheduleError) as caught:
        check_cron(expression)
    assert str(caught.value).endswith(": it never comes") == never
