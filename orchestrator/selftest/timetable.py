"""When the scheduled task of the self-test is due: some seconds in a row, soon, and never again.

Written and read here, so that the checks do not believe the daemon's own arithmetic.
"""

from datetime import UTC, datetime, timedelta

LEAD = 3  # seconds until the first instant, at most: on a busy machine a plan takes its time
INSTANTS = 3  # one second after the other, so that a restart finds several of them passed


def expression(now: float) -> str:
    """A cron expression (seconds first, a year last) in UTC; ``now`` in seconds."""
    first = datetime.fromtimestamp(now + LEAD, UTC).replace(microsecond=0)
    if first.second + INSTANTS > 60:  # noqa: PLR2004 - all of them belong to one minute
        first = first.replace(second=0) + timedelta(minutes=1)
    seconds = ",".join(str(first.second + number) for number in range(INSTANTS))
    return f"{seconds} {first.minute} {first.hour} {first.day} {first.month} * {first.year}"


def instants(expression: str) -> list[int]:
    """What `expression` wrote, in milliseconds since the epoch."""
    seconds, minute, hour, day, month, _, year = expression.split()
    start = datetime(int(year), int(month), int(day), int(hour), int(minute), tzinfo=UTC)
    return [round((start.timestamp() + int(second)) * 1000) for second in seconds.split(",")]
