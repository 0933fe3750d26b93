"""The number of things that wait for a person."""

from pathlib import Path

from fakes.journal import booted

from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.inspect import waiting
from orchestrator.journal.turns import pauses
from orchestrator.journal.turns.outbox import Address


def test_everything_that_waits_counts_until_it_runs_out(tmp_path: Path) -> None:
    """A chat, a changed tool and a pause."""
    with booted(tmp_path) as db:
        assert waiting.count(db, 0) == 0
        pairing.ask(db, Address("telegram", "1", "7"), "Ann", "AAAA", 0)
        tool_pins.compare(db, "wiki", {"search": "1"}, 0)
        tool_pins.compare(db, "wiki", {"search": "2", "late": "3"}, 1)
        pauses.begin(db, "home", "operator", "a rest", "operator", 2)
        assert waiting.count(db, 3) == 4
        assert waiting.count(db, pairing.CODE_LIFETIME + 1) == 3
