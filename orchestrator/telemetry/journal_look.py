"""Read what the journal has recorded since the last look."""

from typing import NamedTuple

from orchestrator.journal.db import row_marks
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.row_marks import RowMark
from orchestrator.journal.inspect import counted_events, queue_lengths
from orchestrator.journal.inspect.counted_events import (
    CountedCalls,
    MessageTally,
    StepTally,
    Stretch,
    TurnTally,
)
from orchestrator.journal.inspect.queue_lengths import QueueLengths
from orchestrator.journal.opening import reading
from orchestrator.journal_address import JournalAddress

MOST = 20_000  # rows of one look: the write-ahead log is not emptied meanwhile
LOST = 3_600_000  # milliseconds without an answer after which a call counts as lost


class JournalPlace(NamedTuple):
    """How far the journal was read.

    Of the model calls ``settled`` marks the last settled one, ``upto`` is the last that was read,
    and ``open`` are those up to it that are to be counted yet.
    """

    events: RowMark
    settled: RowMark
    upto: int
    open: tuple[int, ...] = ()


class Look(NamedTuple):
    """What was read from one place to the next, and whether there is ``more``."""

    place: JournalPlace
    more: bool
    messages: list[MessageTally]
    turns: list[TurnTally]
    steps: list[StepTally]
    calls: CountedCalls
    lengths: QueueLengths


def end(db: Database, now: int) -> JournalPlace:
    """Return the place behind all that the journal has; ``now`` in milliseconds."""
    events, settled = (row_marks.newest(db, table, now) for table in ("transition", "model_call"))
    return JournalPlace(events, settled, row_marks.last_id(db, "model_call"))


def look(address: JournalAddress, place: JournalPlace, now: int) -> Look:
    """Read on from a place; this blocks for milliseconds.

    Raises:
        JournalError: the journal cannot be read.
    """
    with reading(address, ours=True) as db:
        before = row_marks.found_again(db, "transition", place.events)
        last = row_marks.further(db, "transition", before.id, MOST)
        events = RowMark(*last, now) if last[0] else before._replace(read_at=now)
        stretch = Stretch(before.id, events.id)
        calls, behind = _calls(db, place, now)
        ends = row_marks.last_id(db, "transition"), row_marks.last_id(db, "model_call")
        return Look(
            place=behind._replace(events=events),
            more=(events.id, behind.upto) != ends,
            messages=counted_events.messages(db, stretch),
            turns=counted_events.turns(db, stretch),
            steps=counted_events.steps(db, stretch),
            calls=calls,
            lengths=queue_lengths.find(db, now),
        )


def _calls(db: Database, place: JournalPlace, now: int) -> tuple[CountedCalls, JournalPlace]:
    """Count model calls and return the place behind them."""
    settled = row_marks.found_again(db, "model_call", place.settled)
    # The newest reservation is removed if its call is not made, and its id is given again.
    after = min(place.upto, row_marks.last_id(db, "model_call"))
    if settled != place.settled:
        after = settled.id
    upto = row_marks.further(db, "model_call", after, MOST)[0] or after
    found = counted_events.calls(db, Stretch(after, upto), place.open, now - LOST)
    if found.last is not None and found.last[0] > settled.id:
        settled = RowMark(*found.last, now)
    return found, JournalPlace(place.events, settled._replace(read_at=now), upto, found.unsettled)
