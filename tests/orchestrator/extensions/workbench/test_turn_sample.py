"""Which recorded turns a model is tried on."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from fakes.journal import CLASSES, job, open_turn, opened, step
from fakes.used_turns import used_turn, week_of_turns

from orchestrator.extensions.workbench.turn_sample import (
    DAY,
    KINDS,
    choose_sample,
    list_used_turns,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import steps, turns, usage
from orchestrator.journal.turns.prompt_records import NO_SOURCES, PromptSources
from thinker.protocol.messages import LayerRecord, Usage
from thinker.protocol.prompt_record import PromptRecord

PROMPT = PromptRecord(layers=(LayerRecord(name="base", text="Be brief."),))
SETTINGS = PromptSources(settings={"max_steps": 8})


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal."""
    with opened(tmp_path) as connection:
        yield connection


def live(
    db: Database, name: str, *tools: str, sources: PromptSources = SETTINGS, rejected: str = ""
) -> None:
    """A turn with one or two model calls, ended."""
    turn = open_turn(db, name)
    first = step(name, *tools, rejected=rejected or None).model_copy(update={"prompt": PROMPT})
    with job(db):
        steps.plan(db, first, CLASSES, 1, 5, sources)
        for calls in range(1 + bool(tools)):
            used = Usage(prompt=100 + calls, completion=10, cached=50)
            usage.record_usage(db, "work", name, "groq/m", used, 0.5, 5 + calls)
        turns.end_with_reply(db, turn, [], "direct", ("done", None), 9)


def test_turns_are_told_apart_by_what_they_did(db: Database) -> None:
    """And have the tokens of all their calls; a subagent's or a job's are not among them."""
    live(db, "t1")
    live(db, "t2", "note", rejected="no such note")
    live(db, "t3", sources=NO_SOURCES)
    usage.record_usage(db, "work", "compaction/1", "groq/m", Usage(prompt=1), 0.5, 6)
    found = list_used_turns(db, "work", 0, 10)
    assert [(one.turn_id, one.kind, one.is_complete) for one in found] == [
        ("t1", "plain", True),
        ("t2", "failed", True),
        ("t3", "plain", False),
    ]
    assert [(one.calls, one.prompt, one.cached, one.usd) for one in found[:2]] == [
        (1, 100, 50, 0.5),
        (2, 201, 100, 1.0),
    ]
    assert list_used_turns(db, "work", 1, 10) == list_used_turns(db, "home", 0, 10) == []


def test_turn_with_an_unknown_price_has_no_cost(db: Database) -> None:
    """Half a sum would be less than it was."""
    live(db, "t1", "note")
    db.execute("UPDATE model_call SET usd = NULL WHERE prompt = 100")
    assert [one.usd for one in list_used_turns(db, "work", 0, 10)] == [None]


@pytest.mark.parametrize("seed", range(5))
def test_sample_has_every_day_every_kind_and_the_dearest(seed: int) -> None:
    """Exactly as many as were asked for, in order, and the same ones each time."""
    week = week_of_turns(Random(seed), 168)  # noqa: S311 - decides no secret
    sample = choose_sample(week, 42)
    assert sample == sorted({*sample}, key=lambda turn: turn.at)
    assert len(sample) == 42
    assert sample == choose_sample(week, 42)
    assert max(week, key=lambda turn: turn.tokens) in sample
    counts = Counter(turn.kind for turn in sample)
    assert all(counts[kind] >= 2 for kind in KINDS)
    assert {turn.at // DAY for turn in sample} == set(range(7))


def test_rare_kind_is_never_left_out() -> None:
    """A single failure among hundreds is tried."""
    week = [used_turn(n, "failed" if n == 99 else "plain") for n in range(200)]
    assert week[99] in choose_sample(week, 10)
    assert len(choose_sample(week, 2)) == 2
    assert len(choose_sample(week, 1)) == 1


def test_few_turns_are_all_tried() -> None:
    """There is nothing to choose."""
    week = [used_turn(n) for n in range(3)]
    assert choose_sample(week, 40) == week
