"""The time zone of an agent or of this machine."""

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo


def host_timezone(environ: Mapping[str, str]) -> str:
    """USER_TIMEZONE, else TZ, else the time zone of this machine, else UTC."""
    named = environ.get("USER_TIMEZONE") or environ.get("TZ", "").lstrip(":")
    if named:
        return named
    try:
        target = Path("/etc/localtime").readlink()
    except OSError:
        return "UTC"
    _, found, zone = str(target).partition("zoneinfo/")
    return zone if found else "UTC"


def zone_or_utc(name: str | None, environ: Mapping[str, str]) -> ZoneInfo:
    """An agent's time zone, else the machine's; UTC when that is unknown."""
    try:
        return ZoneInfo(name or host_timezone(environ))
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")
