"""How far a collector has taken what the journal holds."""

from pathlib import Path

from fakes.ended_turn import lived
from fakes.journal import booted, job

from orchestrator.extensions.telemetry import row_marks, sent_spans
from orchestrator.extensions.telemetry.row_marks import RowMark


def test_first_start_leaves_out_what_is_old_and_later_ones_go_on(tmp_path: Path) -> None:
    """What happened between two starts is yet to be sent."""
    with booted(tmp_path) as db:
        lived(db, 1)
        with job(db):
            first = sent_spans.load_span_mark(db, 10)
        assert first == row_marks.load_newest_mark(db, "transition", 10)
        lived(db, 2)
        with job(db):
            assert sent_spans.load_span_mark(db, 20) == first


def test_moved_mark_is_the_only_one(tmp_path: Path) -> None:
    """The place is one, whatever was there before."""
    with booted(tmp_path) as db:
        with job(db):
            sent_spans.load_span_mark(db, 10)
            sent_spans.store_span_mark(db, RowMark(7, 8, 9))
            sent_spans.store_span_mark(db, RowMark(8, 9, 10))
        with job(db):
            assert sent_spans.load_span_mark(db, 30) == RowMark(8, 9, 10)
        assert db.execute("SELECT count(*) FROM sent_spans").get == 1
