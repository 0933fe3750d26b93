"""Read what the journal has recorded since the last read."""

from typing import NamedTuple

from orchestrator.extensions.telemetry import counted_events, queue_lengths, row_marks
from orchestrator.extensions.telemetry.counted_events import (
    CountedCalls,
    MessageTally,
    RowRange,
    StepTally,
    TurnTally,
)
from orchestrator.extensions.telemetry.queue_lengths import QueueLengths
from orchestrator.extensions.telemetry.row_marks import RowMark, SettledIds
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal_address import JournalAddress

MAX_ROWS = 20_000  # rows of one read: the write-ahead log cannot shrink meanwhile
LOST_AFTER_MS = 3_600_000  # without an answer after which a call counts as lost


class JournalPlace(NamedTuple):
    """How far the journal was read.

    For model calls, ``settled`` marks the last settled one, ``upto`` is the last one read, and
    ``open`` are earlier ones still to be counted.
    """

    events: RowMark
    settled: RowMark
    upto: int
    open: tuple[int, ...] = ()


class JournalDelta(NamedTuple):
    """Records between two places, and whether there is ``more``."""

    place: JournalPlace
    more: bool
    messages: list[MessageTally]
    turns: list[TurnTally]
    steps: list[StepTally]
    calls: CountedCalls
    lengths: QueueLengths


def find_journal_end(db: Database, now: int) -> JournalPlace:
    """Return the place after everything in the journal; ``now`` in milliseconds."""
    events, settled = (
        row_marks.load_newest_mark(db, table, now) for table in ("transition", "model_call")
    )
    return JournalPlace(events, settled, row_marks.load_last_id(db, "model_call"))


def load_delta(address: JournalAddress, place: JournalPlace, now: int) -> JournalDelta:
    """Read on from a place; this blocks for milliseconds.

    Raises:
        JournalError: the journal cannot be read.
    """
    with open_for_reading(address, ours=True) as db:
        ends = row_marks.find_settled_ids(db)
    with open_for_reading(address, ours=True) as db:
        before = row_marks.relocate_mark(db, "transition", place.events)
        last = row_marks.find_row_ahead(db, "transition", before.id, MAX_ROWS, ends)
        events = RowMark(*last, now) if last[0] else before._replace(read_at=now)
        stretch = RowRange(before.id, events.id)
        calls, behind = _count_model_calls(db, place, ends, now)
        return JournalDelta(
            place=behind._replace(events=events),
            more=events.id < ends.transition or behind.upto < ends.model_call,
            messages=counted_events.count_ended_messages(db, stretch),
            turns=counted_events.count_ended_turns(db, stretch),
            steps=counted_events.count_ended_steps(db, stretch),
            calls=calls,
            lengths=queue_lengths.load_queue_lengths(db, now),
        )


def _count_model_calls(
    db: Database, place: JournalPlace, ends: SettledIds, now: int
) -> tuple[CountedCalls, JournalPlace]:
    """Count model calls; return the place after them."""
    settled = row_marks.relocate_mark(db, "model_call", place.settled)
    # The newest reservation is removed if its call is not made, and its id is reused.
    after = min(place.upto, row_marks.load_last_id(db, "model_call"))
    if settled != place.settled:
        after = settled.id
    upto = row_marks.find_row_ahead(db, "model_call", after, MAX_ROWS, ends)[0] or after
    found = counted_events.count_model_calls(
        db, RowRange(after, upto), place.open, now - LOST_AFTER_MS
    )
    if found.last is not None and found.last[0] > settled.id:
        settled = RowMark(*found.last, now)
    return found, JournalPlace(place.events, settled._replace(read_at=now), upto, found.unsettled)
