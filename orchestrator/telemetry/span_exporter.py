"""Send the spans of ended turns to a collector, each until it was taken.

What was sent is known by a mark in the journal, which moves after the collector's answer. So a
collector or a daemon that was away gets all that the journal still has.
"""

import anyio
import structlog

from orchestrator.errors import JournalError
from orchestrator.journal.db import row_marks
from orchestrator.journal.db.row_marks import RowMark
from orchestrator.journal.db.store import retry_later
from orchestrator.journal.upkeep import sent_spans
from orchestrator.telemetry.collector_trouble import CollectorTrouble
from orchestrator.telemetry.exporter_parts import ExporterParts
from orchestrator.telemetry.otlp_client import OtlpClient
from orchestrator.telemetry.span_batch import BatchReader, SpanBatch

MOST = 64  # ends of turns and deliveries in one batch
log = structlog.get_logger()


class SpanExporter:
    """Sends spans while `run` runs, after a look every ``period`` seconds."""

    def __init__(
        self,
        parts: ExporterParts,
        client: OtlpClient,
        reader: BatchReader,
        trouble: CollectorTrouble,
        period: float,
    ) -> None:
        self._parts, self._client, self._reader = parts, client, reader
        self._period, self._most = period, MOST
        self.trouble = trouble

    async def run(self) -> None:
        """Send what ends, until canceled."""
        mark: RowMark | None = None
        while True:
            try:
                if mark is None:
                    begin = sent_spans.begin_spans
                    mark = await self._parts.store.transact(begin, self._parts.clock())
                while (moved := await self._further(mark)) is not None:
                    mark = moved
            except JournalError as error:
                await retry_later(error)
                continue
            await anyio.sleep(self._period)

    async def _further(self, mark: RowMark) -> RowMark | None:
        """Send one batch; return the mark from which to go on, None if nothing is new.

        Raises:
            JournalError: the journal cannot be used.
        """
        if await self._parts.store.read(row_marks.last_id, "transition") == mark.id:
            return None
        batch = await self._parts.in_thread(
            self._reader.read, mark, self._most, self._parts.clock()
        )
        if not batch.requests:
            return batch.mark
        if not await self._sent(batch):
            return mark
        await self._parts.store.transact(sent_spans.move_spans, batch.mark)
        return batch.mark

    async def _sent(self, batch: SpanBatch) -> bool:
        """Post a batch; return whether the mark may move behind it.

        A collector that refuses a batch gets smaller ones, so that a single turn is passed by.
        """
        outcomes = dict.fromkeys(("sent", "rejected", "refused"), 0)
        wait = 0.0
        for request in batch.requests:
            posted = await self._client.post(request.body, self._parts.clock() / 1000)
            if posted.outcome == "later":
                await anyio.sleep(self.trouble.failed(posted.problem, posted.wait))
                return False
            if posted.outcome == "refused" and batch.ends > 1:
                self._most = max(1, batch.ends // 2)
                return False
            if posted.outcome == "refused":
                wait = self.trouble.failed(posted.problem)
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
            self.trouble.worked()
            self._most = MOST
        return True
