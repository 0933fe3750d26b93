"""What seed 002 says a prompt shows, for tests that compare every byte of it."""

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

ZONE = "Asia/Kathmandu"


def write_skill(home: Path, name: str, text: str) -> None:
    """A skill of the user's own."""
    folder = home / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, "utf-8")


def minutes(first: datetime, last: datetime) -> list[datetime]:
    """Every minute from one time to another: a minute may begin while a test runs."""
    count = int((last - first) / timedelta(minutes=1)) + 2
    return [first + timedelta(minutes=number) for number in range(count)]


def shown(at: datetime) -> str:
    """A time as the seed shows it."""
    local = at.astimezone(ZoneInfo(ZONE))
    return f"{local:%A, %B} {local.day}, {local:%Y, %H:%M} ({ZONE})"
