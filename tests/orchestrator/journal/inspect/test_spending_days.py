"""What was used over time."""

from pathlib import Path

from fakes.journal import booted

from orchestrator.journal.inspect import spending_days
from orchestrator.journal.inspect.spending_days import SLOT
from orchestrator.journal.turns import usage
from thinker.protocol.messages import Usage


def test_calls_of_half_an_hour_are_one_row(tmp_path: Path) -> None:
    """For each agent, model and purpose."""
    with booted(tmp_path) as db:
        for at, agent in (
            (1, "home"),
            (2, "home"),
            (SLOT + 1, "home"),
            (3, "work"),
            (9 * SLOT, "work"),
        ):
            usage.book(db, agent, None, "m", Usage(prompt=10, completion=1, cached=4), None, at)
        found = spending_days.find(db, 0, 5 * SLOT)
        assert [(slot.agent_id, slot.at, slot.calls) for slot in found] == [
            ("home", 0, 2),
            ("home", SLOT, 1),
            ("work", 0, 1),
        ]
        assert (found[0].prompt, found[0].cached, found[0].completion, found[0].unpriced) == (
            20,
            8,
            2,
            2,
        )
