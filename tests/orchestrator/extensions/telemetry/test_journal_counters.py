"""Counters that follow the journal."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from fakes.ended_turn import MODEL, began, called, lived, replied
from fakes.journal import address_of, booted, opened
from fakes.lived import Life
from fakes.postgresql import sqlite_only
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.errors import JournalError
from orchestrator.extensions.telemetry import journal_delta, metric_catalog
from orchestrator.extensions.telemetry.journal_counters import JournalCounters
from orchestrator.extensions.telemetry.journal_delta import JournalPlace
from orchestrator.extensions.telemetry.metric_families import Family, Histogram, Labels, Readings
from orchestrator.extensions.telemetry.prometheus_text import render_metrics
from orchestrator.journal.turns import turns

NOW = 9_000_000_000_000


def counters(folder: Path, place: JournalPlace) -> JournalCounters:
    """Those of the journal of a folder."""
    return JournalCounters(address_of(folder), place, lambda: NOW, to_thread.run_sync)


def series(readings: list[Readings], family: Family) -> Mapping[Labels, float | Histogram]:
    """The series of one family."""
    return next(one.series for one in readings if one.family == family)


async def test_turn_fills_every_family(tmp_path: Path) -> None:
    """Its message, its times, its tokens and cost, its tool."""
    with booted(tmp_path) as db:
        counted = counters(tmp_path, journal_delta.find_journal_end(db, NOW))
        lived(db, 1)
        found = partial(series, await counted.collect_readings())
        assert found(metric_catalog.MESSAGES) == {("telegram", "message", "answered"): 1}
        assert found(metric_catalog.TURNS) == {("work", "done"): 1}
        (turn,) = found(metric_catalog.TURN_SECONDS).values()
        assert isinstance(turn, Histogram)
        assert (turn.total, sum(turn.buckets)) == (5.2, 1)
        whole, first = (
            found(family)["work", MODEL]
            for family in (metric_catalog.CALL_SECONDS, metric_catalog.FIRST_SECONDS)
        )
        assert (whole.total, first.total) == (2.0, 0.7)  # type: ignore[union-attr] # histograms
        assert found(metric_catalog.RETRIES) == {("work", MODEL): 1}
        call = ("work", MODEL, "turn")
        assert found(metric_catalog.CALLS) == {(*call, "answered"): 1}
        assert found(metric_catalog.TOKENS) == {
            (*call, "prompt"): 900,
            (*call, "cached"): 400,
            (*call, "completion"): 20,
        }
        assert found(metric_catalog.COST) == {call: 0.25}
        assert found(metric_catalog.TOOLS) == {("pay", "done"): 1}


async def test_counters_grow_and_gauges_do_not(tmp_path: Path) -> None:
    """A turn that ended is no longer open."""
    with booted(tmp_path) as db:
        counted = counters(tmp_path, journal_delta.find_journal_end(db, NOW))
        lived(db, 1)
        turn = began(db, 2)
        before = await counted.collect_readings()
        assert series(before, metric_catalog.OPEN_TURNS) == {("running",): 1, ("waiting",): 0}
        called(db, turn)
        replied(db, turn)
        after = await counted.collect_readings()
        assert series(after, metric_catalog.OPEN_TURNS) == {("running",): 0, ("waiting",): 0}
        assert series(after, metric_catalog.OUTBOX) == {(): 1}
        assert series(after, metric_catalog.TURNS) == {("work", "done"): 2}
        assert series(before, metric_catalog.TURNS) == {("work", "done"): 1}


async def test_turn_without_a_models_answer_had_a_call_that_failed(tmp_path: Path) -> None:
    """No row of a call is left of it."""
    with booted(tmp_path) as db:
        counted = counters(tmp_path, journal_delta.find_journal_end(db, NOW))
        replied(db, began(db, 1), "model_error")
        replied(db, began(db, 2), "overflow")
        found = await counted.collect_readings()
        assert series(found, metric_catalog.CALLS) == {("work", "", "turn", "failed"): 2}


async def test_two_who_ask_at_once_count_nothing_twice(tmp_path: Path) -> None:
    """The second waits for the first."""
    with booted(tmp_path) as db:
        counted = counters(tmp_path, journal_delta.find_journal_end(db, NOW))
        lived(db, 1)
        found: list[list[Readings]] = []

        async def ask() -> None:
            found.append(await counted.collect_readings())

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
        assert [series(one, metric_catalog.TURNS) for one in found] == [{("work", "done"): 1}] * 3


async def test_text_of_a_whole_life_keeps_the_rules_of_prometheus(tmp_path: Path) -> None:
    """No series twice, buckets that only grow, and nothing of a chat in a label."""
    with opened(tmp_path) as db:
        turns.boot(db, 0)
        counted = counters(tmp_path, journal_delta.find_journal_end(db, NOW))
        Life(db, "work", "471147114711", "zebra").live()
        lived(db, 77)
        text = render_metrics(await counted.collect_readings()).decode()
    seen = set()
    for family in text_string_to_metric_families(text):
        last: dict[object, float] = {}
        for sample in family.samples:
            labels = dict(sample.labels)
            key = (sample.name, *sorted(labels.items()))
            assert key not in seen
            seen.add(key)
            if labels.pop("le", None) is not None:
                own = tuple(sorted(labels.items()))
                assert sample.value >= last.get(own, 0)
                last[own] = sample.value
    assert len(seen) > 60
    assert 'outcome="refused"' in text
    assert "zebra" not in text
    assert "4711" not in text


@sqlite_only
async def test_journal_that_cannot_be_read_loses_nothing(tmp_path: Path) -> None:
    """The next look goes on where the last good one ended."""
    with booted(tmp_path) as db:
        counted = counters(tmp_path, journal_delta.find_journal_end(db, NOW))
        lived(db, 1)
        await counted.collect_readings()
        lived(db, 2)
        hidden = tmp_path / "hidden"
        (tmp_path / "journal.db").rename(hidden)
        with pytest.raises(JournalError):
            await counted.collect_readings()
        hidden.rename(tmp_path / "journal.db")
        found = await counted.collect_readings()
        assert series(found, metric_catalog.TURNS) == {("work", "done"): 2}
