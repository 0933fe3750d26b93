"""The time zone of an agent or of this machine."""

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo


def host_timezone(environ: Mapping[str, str]) -> str:
    """Return the first of USER_TIMEZONE, TZ, the time zone of this machine, and UTC."""
    configured = environ.get("USER_TIMEZONE") or environ.get("TZ", "").lstrip(":")
    if configured:
        return configured
    try:
        target = Path("/etc/localtime").readlink()
    except OSError:
        return "UTC"
    _, found, zone = str(target).partition("zoneinfo/")
    return zone if found else "UTC"


def zone_or_utc(name: str | None, environ: Mapping[str, str]) -> ZoneInfo:
    """Return the time zone ``name``, by default the machine's; UTC if it is unknown."""
    try:
        return ZoneInfo(name or host_timezone(environ))
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")
