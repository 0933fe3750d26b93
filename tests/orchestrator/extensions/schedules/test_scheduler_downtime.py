"""Three days without the daemon, over a change of the clocks: what each misfire policy runs."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fakes.memory import WORK
from fakes.scheduler import running

from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.schedules.specs import TaskSpec

# Zone, cron expression, the daemon's last and first moment (UTC), the local times of what was due.
DOWNTIMES = [
    # Warsaw leaps on 2027-03-28 (02:30 does not exist) and falls on 2027-10-31 (02:30 comes twice).
    (
        "Europe/Warsaw",
        "30 2 * * *",
        ("2027-03-27T00:00", "2027-03-30T00:00"),
        ["27 02:30+0100", "28 03:00+0200", "29 02:30+0200"],
    ),
    (
        "Europe/Warsaw",
        "30 2 * * *",
        ("2027-10-30T00:00", "2027-11-02T00:00"),
        ["30 02:30+0200", "31 02:30+0200", "01 02:30+0100"],
    ),
    # New York leaps on 2026-03-08 and falls on 2026-11-01 (01:30 comes twice).
    (
        "America/New_York",
        "30 2 * * *",
        ("2026-03-07T06:00", "2026-03-10T06:00"),
        ["07 02:30-0500", "08 03:00-0400", "09 02:30-0400"],
    ),
    (
        "America/New_York",
        "30 1 * * *",
        ("2026-10-31T05:00", "2026-11-03T05:00"),
        ["31 01:30-0400", "01 01:30-0400", "02 01:30-0500"],
    ),
]
STATES = {
    "skip": ["skipped", "skipped", "skipped"],
    "latest": ["missed", "missed", "due"],
    "all": ["due", "due", "due"],
}


def ms(text: str) -> int:
    """A time in UTC as milliseconds."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize("policy", STATES)
@pytest.mark.parametrize(("zone", "schedule", "span", "expected"), DOWNTIMES)
async def test_three_days_of_downtime_over_a_change_of_clocks(
    tmp_path: Path,
    zone: str,
    schedule: str,
    span: tuple[str, str],
    expected: list[str],
    policy: str,
) -> None:
    """Each local time was due once; the policy decides which of them run now."""
    async with running(tmp_path) as bench:
        bench.now = ms(span[0])
        spec = TaskSpec.model_validate(
            {
                "name": "t",
                "instructions": "x",
                "trigger": {"schedule": schedule},
                "timezone": zone,
                "misfire": policy,
            }
        )
        task = await bench.store.transact(tasks.add_task, WORK, spec, bench.now)
        bench.now = ms(span[1])
        bench.scheduler.wake()
        await bench.until(
            lambda db: len(task_runs.list_task_runs(db, task.id, 10)) >= len(expected)
        )
        found = (await bench.store.transact(task_runs.list_task_runs, task.id, 10))[::-1]
    local = [datetime.fromtimestamp(run.scheduled_at / 1000, ZoneInfo(zone)) for run in found]
    assert [f"{at:%d %H:%M%z}" for at in local] == expected
    assert [run.state for run in found] == STATES[policy]
