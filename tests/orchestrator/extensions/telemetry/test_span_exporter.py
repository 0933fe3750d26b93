"""Spans of ended turns reach a collector, whatever it does meanwhile."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from fakes.ended_turn import SECRET, began, called, delivered, lived, replied, turn_id
from fakes.journal import booted, job, store_in
from fakes.otlp_collector import OtlpCollector, Told
from fakes.time_limit import time_limit
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from structlog.testing import capture_logs

from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.extensions.telemetry import metric_catalog, row_marks, span_batch
from orchestrator.extensions.telemetry.exporter_parts import ExporterParts
from orchestrator.extensions.telemetry.metric_families import CounterFamily, Readings, Series
from orchestrator.extensions.telemetry.otlp_exporters import build_exporters
from orchestrator.extensions.telemetry.otlp_settings import OtlpSettings
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store

SPANS = 5  # of a turn that `lived`
NOW = 9_000_000_000_000


async def nothing() -> Sequence[Readings]:
    """No metrics."""
    return ()


class Sending:
    """A journal whose turns are sent to a collector while `on` runs; tries follow at once."""

    def __init__(self, db: Database, store: Store, collector: OtlpCollector) -> None:
        self.db, self.store, self.collector = db, store, collector
        self.counted = CounterFamily[float](metric_catalog.SPANS)

    @asynccontextmanager
    async def on(self) -> AsyncIterator[None]:
        """Be a daemon that lives until the block ends."""
        parts = ExporterParts(
            store=self.store,
            readings=nothing,
            spans=self.counted,
            started=NOW,
            clock=lambda: NOW,
            in_thread=to_thread.run_sync,
            jitter=lambda: 0.0,
        )
        settings = OtlpSettings(traces_endpoint=f"{self.collector.url}/v1/traces", delay=10)
        (exporter,) = build_exporters(settings, parts)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(exporter.run)
            while await self.store.read(place) is None:  # until it knows from where on to send
                await anyio.lowlevel.checkpoint()
            yield
            tasks.cancel_scope.cancel()

    async def turns(self, *numbers: int) -> None:
        """Wait until these turns arrived, and the mark is behind them."""
        wanted = {turn_id(number) for number in numbers}
        await self.collector.until(lambda: wanted <= {trace for trace, _ in self.collector.ids()})
        while await self.store.read(place) != await self.store.read(
            row_marks.load_last_id, "transition"
        ):
            await anyio.lowlevel.checkpoint()

    def outcomes(self) -> Series:
        """What was counted, without zeros."""
        found = self.counted.build_readings().series.items()
        return {labels: number for labels, number in found if number}


def place(db: Database) -> int | None:
    """The last transition that the collector has."""
    found = db.execute("SELECT transition_id FROM sent_spans").get
    return None if found is None else int(found)


@asynccontextmanager
async def sending(folder: Path, collector: OtlpCollector) -> AsyncIterator[Sending]:
    """Open a journal for a collector."""
    with booted(folder) as db, closing(store_in(folder)) as store, time_limit():
        async with collector:
            yield Sending(db, store, collector)


def each_once(collector: OtlpCollector, turns: int) -> None:
    """Every span of so many turns was taken, and none twice."""
    assert len(collector.ids()) == len(set(collector.ids())) == turns * SPANS


async def test_turns_are_sent_as_they_end(tmp_path: Path) -> None:
    """Those from before the first start are not."""
    async with sending(tmp_path, OtlpCollector()) as world:
        lived(world.db, 1)
        async with world.on():
            lived(world.db, 2)
            await world.turns(2)
            lived(world.db, 3)
            await world.turns(3)
        assert {trace for trace, _ in world.collector.ids()} == {turn_id(2), turn_id(3)}
        each_once(world.collector, 2)
        assert world.collector.resources[0]["service.name"] == "orchestrator"
        assert world.outcomes() == {("sent",): 2 * SPANS}
        assert SECRET not in str(world.collector.spans)


async def test_collector_that_was_away_gets_everything_later(tmp_path: Path) -> None:
    """It refuses, it is overloaded, it ends connections; and the daemon starts anew meanwhile."""
    async with sending(tmp_path, OtlpCollector()) as world:
        collector = world.collector
        collector.script.extend([Told(401), Told(503), Told(429), Told(500), Told(404)])
        async with world.on():
            lived(world.db, 1)
            await collector.until(lambda: not collector.script)
            collector.dead = True
            lived(world.db, 2)
            await collector.until(lambda: ("dead", 0) in collector.posts)
        lived(world.db, 3)
        async with world.on():
            lived(world.db, 4)
            tried = len(collector.posts)
            await collector.until(lambda: len(collector.posts) > tried)
            collector.dead = False
            await world.turns(1, 2, 3, 4)
        each_once(collector, 4)
        assert world.outcomes() == {("sent",): 4 * SPANS}


async def test_answer_that_is_lost_repeats_the_same_spans(tmp_path: Path) -> None:
    """The collector took them, and the daemon ended before it knew."""
    async with sending(tmp_path, OtlpCollector()) as world:
        async with world.on():
            lived(world.db, 1)
            await world.turns(1)
        world.db.execute("UPDATE sent_spans SET transition_id = 0, at = 0")
        async with world.on():
            await world.collector.until(lambda: len(world.collector.ids()) == 2 * SPANS)
        assert set(Counter(world.collector.ids()).values()) == {2}
        first, second = world.collector.spans[:SPANS], world.collector.spans[SPANS:]
        assert first == second


async def test_turn_that_is_never_taken_is_passed_by(tmp_path: Path) -> None:
    """Alone: those that were sent with it arrive. It is logged and counted."""

    def judge(spans: Sequence[Span]) -> Told:
        poison = any(span.trace_id.hex() == turn_id(5) for span in spans)
        return Told(400, b"bad span") if poison else Told()

    async with sending(tmp_path, OtlpCollector(judge)) as world:
        async with world.on():
            pass
        for number in range(1, 9):
            lived(world.db, number)
        with capture_logs() as lines:
            async with world.on():
                await world.turns(*(set(range(1, 9)) - {5}))
        each_once(world.collector, 7)
        assert world.outcomes() == {("sent",): 7 * SPANS, ("refused",): SPANS}
        told = [line["problem"] for line in lines if line["event"] == "spans_refused"]
        assert told == ["status 400, bad span"] * 2  # of the delivery, and of the turn


async def test_spans_that_were_rejected_are_not_sent_again(tmp_path: Path) -> None:
    """The collector took the others, as it says."""
    async with sending(tmp_path, OtlpCollector()) as world:
        body = b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'
        world.collector.script.append(Told(200, body))
        with capture_logs() as lines:
            async with world.on():
                lived(world.db, 1)
                await world.turns(1)
        assert world.outcomes() == {("sent",): SPANS - 2, ("rejected",): 2}
        assert [line["spans"] for line in lines if line["event"] == "spans_rejected"] == [2]


async def test_erased_chat_is_sent_no_more_and_hides_nothing(tmp_path: Path) -> None:
    """Its rows were the newest; those that follow have their numbers."""
    async with sending(tmp_path, OtlpCollector()) as world:
        async with world.on():
            lived(world.db, 1)
            lived(world.db, 2)
            await world.turns(1, 2)
        world.db.execute("UPDATE transition SET at = 5")
        world.db.execute("UPDATE sent_spans SET at = 5, read_at = 6")
        lived(world.db, 3)
        with job(world.db):
            for number in (3, 2):
                subject = Subject(channel="telegram", chat=f"{SECRET}{number}")
                erasure.forget(world.db, subject, NOW)
        for number in (4, 5):
            lived(world.db, number)
        async with world.on():
            await world.turns(4, 5)
        assert {trace for trace, _ in world.collector.ids()} == {
            turn_id(number) for number in (1, 2, 4, 5)
        }
        each_once(world.collector, 4)


async def test_long_turn_is_sent_whole_or_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several requests, of which the second fails once."""
    monkeypatch.setattr(span_batch, "MAX_SPANS", 4)
    async with sending(tmp_path, OtlpCollector()) as world:
        async with world.on():
            pass
        turn = began(world.db, 1)
        for _ in range(5):
            called(world.db, turn)
        replied(world.db, turn)
        delivered(world.db)
        world.collector.script.extend([Told(), Told(503)])
        async with world.on():
            await world.turns(1)
            counts = Counter(world.collector.ids())
        assert len(counts) == 13
        assert set(counts.values()) == {1, 2}
        assert world.outcomes() == {("sent",): 13}
