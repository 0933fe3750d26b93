"""The time zone in which the page shows times."""

from collections.abc import Mapping
from zoneinfo import ZoneInfo

from orchestrator.agentsfile import AgentsFile
from orchestrator.timezones import load_zone_or_utc


def choose_page_zone(environ: Mapping[str, str], file: AgentsFile | None) -> ZoneInfo:
    """Return the zone of USER_TIMEZONE, else the only one that agents name, else this machine's.

    An unknown name counts as UTC.
    """
    named = set() if file is None else {agent.timezone for agent in file.agents} - {None}
    common = named.pop() if len(named) == 1 and not environ.get("USER_TIMEZONE") else None
    return load_zone_or_utc(common, environ)
