"""The time zone of an agent or of this machine."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

EXAMPLE = "Europe/Berlin"
HERE = Path("/etc/localtime")


def find_host_timezone(environ: Mapping[str, str]) -> str:
    """Return USER_TIMEZONE, TZ, the machine's time zone or UTC, whichever is set first."""
    configured = environ.get("USER_TIMEZONE") or environ.get("TZ", "").lstrip(":")
    if configured:
        return configured
    try:
        target = HERE.readlink()
    except OSError:
        return "UTC"
    _, found, zone = str(target).partition("zoneinfo/")
    return zone if found else "UTC"


def load_zone_or_utc(name: str | None, environ: Mapping[str, str]) -> ZoneInfo:
    """Return the time zone ``name``, by default the machine's; UTC if unknown."""
    try:
        return ZoneInfo(name or find_host_timezone(environ))
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")


def is_known_zone(name: str) -> bool:
    """Return whether this machine knows a time zone."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def suggest_zone(name: str) -> str:
    """Suggest a time zone for an unknown name, such as that of a city, or return an example.

    A zone's name is an area and a city; people often write only the city.
    """
    cities = {zone.rpartition("/")[2].lower(): zone for zone in sorted(available_timezones())}
    city = name.rpartition("/")[2].strip().replace(" ", "_").lower()
    near = get_close_matches(city, cities, n=1, cutoff=0.8)
    return cities[near[0]] if near else EXAMPLE
