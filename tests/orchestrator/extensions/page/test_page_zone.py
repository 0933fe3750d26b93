"""The time zone in which the page shows times."""

from collections.abc import Sequence

import pytest
from fakes.agents_file import WORK, validate_file

from orchestrator.extensions.page.page_zone import choose_page_zone


@pytest.mark.parametrize(
    ("environ", "zones", "chosen"),
    [
        ({"USER_TIMEZONE": "Europe/Warsaw"}, ["Asia/Tokyo"], "Europe/Warsaw"),
        ({"TZ": "Europe/Paris"}, ["Asia/Tokyo", "Asia/Tokyo", None], "Asia/Tokyo"),
        ({"TZ": "Europe/Paris"}, ["Asia/Tokyo", "Europe/Rome"], "Europe/Paris"),
        ({"TZ": "Europe/Paris"}, [None], "Europe/Paris"),
        ({"USER_TIMEZONE": "Moon/Crater"}, [None], "UTC"),
    ],
)
def test_page_shows_times_in_the_zone_of_its_people(
    environ: dict[str, str], zones: Sequence[str | None], chosen: str
) -> None:
    """What the person set comes first, then what all agents agree on, then the machine's."""
    agents = [{**WORK, "agentId": f"agent-{n}", "timezone": zone} for n, zone in enumerate(zones)]
    file = validate_file({"agents": agents})
    assert choose_page_zone(environ, file).key == chosen
