"""What was used over time."""

from pathlib import Path

from fakes.journal import booted

from orchestrator.extensions.page.reads import spending_days
from orchestrator.journal.turns import usage
from thinker.protocol.messages import Usage

DAY = 86_400_000  # milliseconds


def test_calls_of_a_time_are_one_row(tmp_path: Path) -> None:
    """For each agent, model and purpose; calls before and after it are left out."""
    with booted(tmp_path) as db:
        for at, agent in (
            (0, "home"),
            (DAY, "home"),
            (DAY + 1, "work"),
            (DAY + 2, "home"),
            (2 * DAY, "work"),
        ):
            usage.record_usage(
                db, agent, None, "m", Usage(prompt=10, completion=1, cached=4), None, at
            )
        found = spending_days.list_spending_slots(db, DAY, 2 * DAY)
        assert [(slot.agent_id, slot.at, slot.calls) for slot in found] == [
            ("home", DAY, 2),
            ("work", DAY + 1, 1),
        ]
        assert (found[0].prompt, found[0].cached, found[0].completion, found[0].unpriced) == (
            20,
            8,
            2,
            2,
        )
