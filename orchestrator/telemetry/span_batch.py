"""Read ended turns from the journal, and make requests of their spans."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import orjson

from orchestrator.journal.db.row_marks import RowMark
from orchestrator.journal.inspect import ended_turns
from orchestrator.journal.opening import reading
from orchestrator.journal_address import JournalAddress
from orchestrator.telemetry.otlp_json import SCOPE, OtlpObject
from orchestrator.telemetry.otlp_spans import spans

MOST_SPANS = 512  # of one request, as many as OpenTelemetry's own exporters send
MOST_BYTES = 1024 * 1024  # of one request, before it is compressed; collectors take 4 MB and more


class SpanRequest(NamedTuple):
    """A body to post, and how many spans it has."""

    body: bytes
    spans: int


class SpanBatch(NamedTuple):
    """What ended up to a mark: so many ``ends``, in requests."""

    mark: RowMark
    ends: int
    requests: list[SpanRequest]


class BatchReader(NamedTuple):
    """Reads a journal; ``packed`` makes the body that is posted."""

    address: JournalAddress
    resource: OtlpObject
    packed: Callable[[bytes], bytes]

    def read(self, after: RowMark, most: int, now: int) -> SpanBatch:
        """Return the first ``most`` ends behind a mark; this blocks.

        Raises:
            JournalError: the journal cannot be read.
        """
        with reading(self.address, ours=True) as db:
            found = ended_turns.find(db, after, most, now)
        made = (orjson.dumps(span) for end in found.ends for span in spans(end))
        requests = [
            SpanRequest(self.packed(self._body(group)), len(group)) for group in _groups(made)
        ]
        return SpanBatch(found.mark, len(found.ends), requests)

    def _body(self, group: Iterable[bytes]) -> bytes:
        scoped = {"scope": SCOPE, "spans": [orjson.Fragment(span) for span in group]}
        return orjson.dumps(
            {"resourceSpans": [{"resource": self.resource, "scopeSpans": [scoped]}]}
        )


def _groups(made: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Divide spans, so that no request is too large."""
    group: list[bytes] = []
    size = 0
    for span in made:
        if group and (len(group) == MOST_SPANS or size + len(span) > MOST_BYTES):
            yield group
            group, size = [], 0
        group.append(span)
        size += len(span)
    if group:
        yield group
