"""The schedule of the self-test's task: due in some consecutive seconds soon, and never again.

It is written and parsed here, so that the checks do not depend on the daemon's own arithmetic.
"""

from datetime import UTC, datetime, timedelta

LEAD = 3  # seconds until the first instant; enough for a busy machine to store the task
INSTANTS = 3  # consecutive seconds, so that a restart finds several that have passed


def build_cron_expression(now: float) -> str:
    """Return a cron expression (seconds first, year last) in UTC; ``now`` is in seconds."""
    first = datetime.fromtimestamp(now + LEAD, UTC).replace(microsecond=0)
    if first.second + INSTANTS > 60:  # noqa: PLR2004 - all must be in one minute
        first = first.replace(second=0) + timedelta(minutes=1)
    seconds = ",".join(str(first.second + number) for number in range(INSTANTS))
    return f"{seconds} {first.minute} {first.hour} {first.day} {first.month} * {first.year}"


def parse_instants(expression: str) -> list[int]:
    """Parse a result of `build_cron_expression` to instants in milliseconds since the epoch."""
    seconds, minute, hour, day, month, _, year = expression.split()
    start = datetime(int(year), int(month), int(day), int(hour), int(minute), tzinfo=UTC)
    return [round((start.timestamp() + int(second)) * 1000) for second in seconds.split(",")]
