"""Turns are found by how they went."""

from pathlib import Path

import pytest
from fakes.journal import booted, next_turn, planned, receive, update

from orchestrator.journal.inspect import turn_search
from orchestrator.journal.inspect.turn_search import PAGE
from orchestrator.journal.turns import usage
from thinker.protocol.messages import Usage


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["t2", "t1"]),
        ({"agent": "work"}, ["t2", "t1"]),
        ({"agent": "home"}, []),
        ({"chat": "/8/"}, ["t2"]),
        ({"state": "running"}, ["t2", "t1"]),
        ({"tool": "read"}, ["t1"]),
        ({"model": "big"}, ["t1"]),
        ({"dearer": "0.5"}, ["t1"]),
        ({"longer": "1"}, []),
        ({"longer": "soon"}, []),
        ({"dearer": "much"}, ["t1"]),
        ({"text": "TRAIN", "chat": "7"}, ["t1"]),
        ({"text": "Ärger"}, ["t2"]),
        ({"text": "'; DROP TABLE turn"}, []),
    ],
)
def test_filters_are_about_what_they_say(
    tmp_path: Path, wanted: dict[str, str], found: list[str]
) -> None:
    """All that are given must fit."""
    with booted(tmp_path) as db:
        receive(db, update(1, "the train", "7"), update(2, "the weather is an Ärger", "8"))
        next_turn(db, "t1", "7")
        next_turn(db, "t2", "8")
        planned(db, "t1", "read")
        usage.record_usage(db, "work", "t1", "big", Usage(prompt=5, completion=2, cached=3), 1.0, 1)
        page = turn_search.search_turns(db, wanted)
        assert [turn.id for turn in page.turns] == found
        assert page.before is None
        for turn in page.turns:
            if turn.id == "t1":
                assert (turn.asked, turn.tools, turn.tokens) == ("the train", ("read",), 7)
                assert (turn.cached, turn.usd, turn.steps) == (3, 1.0, 2)


def test_list_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Fifty turns a page."""
    with booted(tmp_path) as db:
        for number in range(1, PAGE + 6):
            receive(db, update(number, "x", str(number)))
            next_turn(db, f"t{number:03}", str(number))
        first = turn_search.search_turns(db, {})
        assert len(first.turns) == PAGE
        rest = turn_search.search_turns(db, {}, first.before)
        assert [turn.id for turn in rest.turns] == [f"t{n:03}" for n in (5, 4, 3, 2, 1)]
        assert rest.before is None
