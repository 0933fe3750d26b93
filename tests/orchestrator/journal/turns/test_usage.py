"""What model calls cost, reserved and settled."""

from pathlib import Path

from fakes.journal import booted, open_turn

from orchestrator.journal.turns import cancellations, usage
from orchestrator.journal.turns.usage import Amount


def test_reservation_of_a_stopped_turn_gives_way_to_the_call(tmp_path: Path) -> None:
    """Until the call is known it counts as it was reserved; that of an open turn stays."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        usage.reserve_amount(db, "work", turn.id, "m", Amount(1_000), 1)
        usage.delete_stopped_reservation(db, turn.id)
        cancellations.cancel_turn(db, turn.chat_key, "stopped", 2)
        assert usage.sum_spending(db, "work", 0).tokens == 1_000
        usage.delete_stopped_reservation(db, turn.id)
        assert usage.sum_spending(db, "work", 0).tokens == 0
