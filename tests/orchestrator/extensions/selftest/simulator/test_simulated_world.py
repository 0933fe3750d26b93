"""What the simulated world promises of edits of agents.json."""

import pytest

from orchestrator.extensions.selftest.crash.scenario import STANDARD
from orchestrator.extensions.selftest.simulator.history_plan import make_course
from orchestrator.extensions.selftest.simulator.simulated_world import EDIT_WITHIN, SimulatedWorld
from orchestrator.watching import DEBOUNCE


@pytest.mark.parametrize(("stood", "outdated"), [(0.5 * DEBOUNCE, 0), (1.5 * DEBOUNCE, 1)])
def test_revision_has_to_apply_if_it_stood_until_a_daemon_looks(
    stood: float, outdated: int
) -> None:
    """A broken file that replaces it sooner leaves the revision before in force."""
    now = [0.0]
    world = SimulatedWorld(STANDARD, make_course(1).make_random("platform"))
    world.begin_life(lambda: True, lambda: now[0])
    world.note_revision(1)
    now[0] += stood / 1000
    world.note_broken_file()
    now[0] += EDIT_WITHIN
    world.check_revision(0)
    found = [event.kind for event in world.ledger.read_events() if event.kind == "outdated"]
    assert len(found) == outdated
    world.check_revision(1)  # allowed in any case
    assert len(found) == outdated
