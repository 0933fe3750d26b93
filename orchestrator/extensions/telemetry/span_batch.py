"""Read ended turns from the journal, and pack their spans into requests."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import orjson

from orchestrator.extensions.telemetry import ended_turns, row_marks
from orchestrator.extensions.telemetry.otlp_json import SCOPE, OtlpObject
from orchestrator.extensions.telemetry.otlp_spans import build_spans
from orchestrator.extensions.telemetry.row_marks import RowMark
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal_address import JournalAddress

MAX_SPANS = 512  # of one request, as many as OpenTelemetry's own exporters send
MAX_BYTES = 1024 * 1024  # of one request, before it is compressed; collectors take 4 MB and more


class SpanRequest(NamedTuple):
    """A body to post, and its number of spans."""

    body: bytes
    spans: int


class SpanBatch(NamedTuple):
    """The ``ends`` up to a mark, in requests."""

    mark: RowMark
    ends: int
    requests: list[SpanRequest]


class BatchReader(NamedTuple):
    """Reads a journal; ``packed`` makes the body to post."""

    address: JournalAddress
    resource: OtlpObject
    packed: Callable[[bytes], bytes]

    def read_batch(self, after: RowMark, most: int, now: int) -> SpanBatch:
        """Return the first ``most`` ends after a mark; this blocks.

        Raises:
            JournalError: the journal cannot be read.
        """
        with open_for_reading(self.address, ours=True) as db:
            upto = row_marks.find_settled_ids(db)
        with open_for_reading(self.address, ours=True) as db:
            found = ended_turns.load_ended_work(db, after, most, now, upto)
        made = (orjson.dumps(span) for end in found.ends for span in build_spans(end))
        requests = [
            SpanRequest(self.packed(self._encode_spans(group)), len(group))
            for group in _split_groups(made)
        ]
        return SpanBatch(found.mark, len(found.ends), requests)

    def _encode_spans(self, group: Iterable[bytes]) -> bytes:
        scoped = {"scope": SCOPE, "spans": [orjson.Fragment(span) for span in group]}
        return orjson.dumps(
            {"resourceSpans": [{"resource": self.resource, "scopeSpans": [scoped]}]}
        )


def _split_groups(made: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Split spans, so that no request is too large."""
    group: list[bytes] = []
    size = 0
    for span in made:
        if group and (len(group) == MAX_SPANS or size + len(span) > MAX_BYTES):
            yield group
            group, size = [], 0
        group.append(span)
        size += len(span)
    if group:
        yield group
