"""Send the spans of ended turns to a collector until they are accepted.

A mark in the journal, which moves after the collector's answer, records what was sent. So a
collector that was away later gets everything that the journal still has.

Where: are traces sent to a collector?
"""

import anyio
import structlog

from orchestrator.errors import JournalError
from orchestrator.extensions.telemetry import row_marks, sent_spans
from orchestrator.extensions.telemetry.collector_trouble import CollectorTrouble
from orchestrator.extensions.telemetry.exporter_parts import ExporterParts
from orchestrator.extensions.telemetry.otlp_client import OtlpClient
from orchestrator.extensions.telemetry.row_marks import RowMark
from orchestrator.extensions.telemetry.span_batch import BatchReader, SpanBatch
from orchestrator.journal.db.store import retry_later

MAX_ENDS = 64  # ends of turns and deliveries in one batch
log = structlog.get_logger()


class SpanExporter:
    """Sends spans while `run` runs, checking every ``period`` seconds."""

    def __init__(
        self,
        parts: ExporterParts,
        client: OtlpClient,
        reader: BatchReader,
        trouble: CollectorTrouble,
        period: float,
    ) -> None:
        self._parts, self._client, self._reader = parts, client, reader
        self._period, self._most = period, MAX_ENDS
        self.trouble = trouble

    async def run(self) -> None:
        """Send ended turns, until cancelled."""
        mark: RowMark | None = None
        while True:
            try:
                if mark is None:
                    begin = sent_spans.load_span_mark
                    mark = await self._parts.store.transact(begin, self._parts.clock())
                while (moved := await self._send_next_batch(mark)) is not None:
                    mark = moved
            except JournalError as error:
                await retry_later(error)
                continue
            await anyio.sleep(self._period)

    async def _send_next_batch(self, mark: RowMark) -> RowMark | None:
        """Send one batch; return the next mark, None if nothing is new.

        Raises:
            JournalError: the journal cannot be used.
        """
        if await self._parts.store.read(row_marks.load_last_id, "transition") == mark.id:
            return None
        batch = await self._parts.in_thread(
            self._reader.read_batch, mark, self._most, self._parts.clock()
        )
        if not batch.requests:
            return batch.mark
        if not await self._post_batch(batch):
            return mark
        await self._parts.store.transact(sent_spans.store_span_mark, batch.mark)
        return batch.mark

    async def _post_batch(self, batch: SpanBatch) -> bool:
        """Post a batch; return whether the mark may move past it.

        A refused batch is split, so that only a single turn is skipped.
        """
        outcomes = dict.fromkeys(("sent", "rejected", "refused"), 0)
        wait = 0.0
        for request in batch.requests:
            posted = await self._client.post_body(request.body, self._parts.clock() / 1000)
            if posted.outcome == "later":
                await anyio.sleep(self.trouble.record_failure(posted.problem, posted.wait))
                return False
            if posted.outcome == "refused" and batch.ends > 1:
                self._most = max(1, batch.ends // 2)
                return False
            if posted.outcome == "refused":
                wait = self.trouble.record_failure(posted.problem)
                log.error("spans_refused", spans=request.spans, problem=posted.problem)
                outcomes["refused"] += request.spans
            else:
                outcomes["rejected"] += posted.rejected
                outcomes["sent"] += request.spans - posted.rejected
            if posted.rejected:
                log.warning("spans_rejected", spans=posted.rejected, problem=posted.problem)
        for outcome, spans in outcomes.items():
            self._parts.spans.add((outcome,), spans)
        if outcomes["refused"]:  # a collector that refuses all loses little until it is corrected
            await anyio.sleep(wait)
        else:
            self.trouble.record_success()
            self._most = MAX_ENDS
        return True
