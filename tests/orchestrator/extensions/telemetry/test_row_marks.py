"""How far a table was read, also when its newest rows are gone and their ids are given again."""

from pathlib import Path

from fakes.journal import booted, job, open_turn, receive, update

from orchestrator.extensions.telemetry import row_marks
from orchestrator.extensions.telemetry.row_marks import RowMark, SettledIds
from orchestrator.journal.turns import usage
from orchestrator.journal.turns.usage import Amount
from thinker.protocol.messages import Usage

NOW = 9_000_000_000_000


def test_mark_of_an_empty_table_is_before_its_first_row(tmp_path: Path) -> None:
    """Nothing is found behind it either."""
    with booted(tmp_path) as db:
        mark = row_marks.load_newest_mark(db, "transition", NOW)
        assert mark == RowMark(0, 0, NOW)
        assert row_marks.relocate_mark(db, "transition", mark) == mark
        assert row_marks.find_row_ahead(db, "transition", 0, 10, SettledIds(9, 9)) == (0, 0)
        assert row_marks.load_last_id(db, "transition") == 0


def test_reading_goes_on_in_bounded_parts(tmp_path: Path) -> None:
    """Each ends at a row that is there."""
    with booted(tmp_path) as db:
        receive(db, *(update(number) for number in range(1, 6)))
        upto = row_marks.find_settled_ids(db)
        assert [
            row_marks.find_row_ahead(db, "transition", after, 2, upto)[0] for after in (0, 2, 4, 5)
        ] == [*(2, 4, 5, 0)]
        assert row_marks.find_row_ahead(db, "transition", 2, 2, SettledIds(3, 9))[0] == 3


def test_rows_with_ids_that_were_given_again_are_new(tmp_path: Path) -> None:
    """The row that was read last is gone, or is another one; what was read before it is not new."""
    with booted(tmp_path) as db:
        receive(db, *(update(number) for number in range(1, 6)))
        db.execute("UPDATE transition SET at = 100")
        mark = row_marks.load_newest_mark(db, "transition", 200)
        for gone in (3, 4, 5):
            db.execute("DELETE FROM transition WHERE number = ?", (gone,))
        assert row_marks.relocate_mark(db, "transition", mark) == RowMark(2, 100, 200)
        db.execute("DELETE FROM inbox WHERE id > 2")
        receive(db, *(update(number) for number in range(6, 10)))
        assert row_marks.load_last_id(db, "transition") > mark.id
        assert row_marks.relocate_mark(db, "transition", mark) == RowMark(2, 100, 200)


def test_reservation_is_no_mark(tmp_path: Path) -> None:
    """Its time changes when it is settled."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        with job(db):
            usage.record_usage(db, "work", turn.id, "m", Usage(prompt=1), None, 5)
            usage.reserve_amount(db, "work", turn.id, "m", Amount(1), 6)
        assert row_marks.load_newest_mark(db, "model_call", NOW) == RowMark(1, 5, NOW)
        assert row_marks.load_last_id(db, "model_call") == 2
