"""What the daemon takes from its machine."""

import time
from pathlib import Path

from orchestrator.machine import Machine
from orchestrator.settings import Settings


def test_clock_of_those_who_share_the_journal_counts(tmp_path: Path) -> None:
    """A machine whose own clock is an hour late knows the time all the same."""
    hour = 3_600_000
    machine = Machine(Settings(home=tmp_path), {}, lambda: hour)
    before = time.time_ns() // 1_000_000
    assert before + hour <= machine.clock() <= time.time_ns() // 1_000_000 + hour
