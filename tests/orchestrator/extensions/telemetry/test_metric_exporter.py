"""Metrics reach a collector, again and again."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import cast

import anyio
from anyio import to_thread
from fakes.otlp_collector import OtlpCollector, Told
from fakes.time_limit import time_limit
from structlog.testing import capture_logs

from orchestrator.errors import JournalError
from orchestrator.extensions.telemetry.collector_trouble import CollectorTrouble
from orchestrator.extensions.telemetry.exporter_parts import ExporterParts
from orchestrator.extensions.telemetry.metric_exporter import MetricExporter
from orchestrator.extensions.telemetry.metric_families import CounterFamily, Family, Readings
from orchestrator.extensions.telemetry.otlp_client import OtlpClient
from orchestrator.extensions.telemetry.otlp_json import build_resource
from orchestrator.journal.db.store import Store

TURNS = Family("o_turns", "counter", "Turns.", ("agent",))
EMPTY = Family("o_tools", "counter", "Tools.", ("tool",))
STARTED, NOW = 1000, 3000  # milliseconds
REJECTED = b'{"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"too old"}}'


@asynccontextmanager
async def sending(
    collector: OtlpCollector, read: Callable[[], Sequence[Readings]]
) -> AsyncIterator[CollectorTrouble]:
    """Send what is read to a collector, without a pause."""

    async def readings() -> Sequence[Readings]:
        await anyio.lowlevel.checkpoint()
        return read()

    store = cast("Store", None)  # which this exporter needs not
    parts = ExporterParts(
        store=store,
        readings=readings,
        spans=CounterFamily[float](TURNS),
        started=STARTED,
        clock=lambda: NOW,
        in_thread=to_thread.run_sync,
        jitter=lambda: 0.0,
    )
    trouble = CollectorTrouble("c", "metrics", "Some are missing", lambda: 0.0)
    with time_limit():
        async with collector, anyio.create_task_group() as tasks:
            client = OtlpClient(f"{collector.url}/v1/metrics", {}, 60.0, compressed=True)
            about = build_resource("bots", {})
            tasks.start_soon(MetricExporter(parts, client, about, trouble, 0.0).run)
            yield trouble
            tasks.cancel_scope.cancel()


async def test_each_time_sends_what_there_is_then() -> None:
    """A family without series is left out."""
    turns = CounterFamily[float](TURNS)

    def read() -> Sequence[Readings]:
        turns.add(("work",), 1)
        return turns.build_readings(), Readings(EMPTY, {})

    collector = OtlpCollector()
    async with sending(collector, read):
        await collector.until(lambda: len(collector.metrics) >= 3)
    found = [
        [(one.name, one.sum.data_points[0].as_double) for one in sent] for sent in collector.metrics
    ]
    assert found[:3] == [[("o_turns", 1.0)], [("o_turns", 2.0)], [("o_turns", 3.0)]]
    assert collector.resources[0]["service.name"] == "bots"


async def test_failure_is_told_until_a_success() -> None:
    """Of the journal, of the collector, and of a part that it rejects."""
    reads = [0]

    def read() -> Sequence[Readings]:
        reads[0] += 1
        if reads[0] == 1:
            raise JournalError("the journal cannot be read")
        return (Readings(TURNS, {("work",): 1}),)

    collector = OtlpCollector()
    collector.script.extend([Told(400, b"no"), Told(200, REJECTED), Told(404, b"")])
    with capture_logs() as lines:
        async with sending(collector, read) as trouble:
            await collector.until(lambda: len(collector.metrics) > 2)
            assert trouble.failures == 0
    assert [(line["event"], line.get("problem")) for line in lines] == [
        ("collector_failed", "the journal cannot be read"),
        ("collector_failed", "status 400, no"),
        ("collector_failed", "1 rejected, too old"),
        ("collector_failed", "status 404"),
        ("collector_works", None),
    ]
