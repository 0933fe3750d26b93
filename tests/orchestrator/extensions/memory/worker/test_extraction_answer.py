"""Answers to an extraction, as models write them."""

import json
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.memory.worker.extraction_answer import (
    AnswerContext,
    ParsedAnswer,
    parse_answer,
)
from orchestrator.extensions.memory.worker.facts import TEMPLATE

KIRITIMATI = ZoneInfo("Pacific/Kiritimati")  # the first zone to see a new day
CONTEXT = AnswerContext(TEMPLATE, KIRITIMATI, known=frozenset({3, 12}), messages=frozenset({7, 9}))
CITY = {"fact": "The user lives in Krakow.", "category": "background", "confidence": 0.9}


def parsed(*items: object, **fields: Any) -> ParsedAnswer:
    """The answer with these facts and other fields."""
    return parse_answer(json.dumps({"facts": [*items], **fields}), CONTEXT)


def day(*numbers: int) -> int:
    """The start of a day there, in milliseconds."""
    year, month, date = numbers
    return round(datetime(year, month, date, tzinfo=KIRITIMATI).timestamp() * 1000)


def test_whole_answer_is_read_as_it_is_asked_for() -> None:
    """With what it does, since when, and which message says it."""
    item = CITY | {
        "do": "replace 12",
        "subject": "The User",
        "slot": "Home  city",
        "since": "2026-02-10",
        "message": "m7",
    }
    answer = parsed(item, notes=[{"date": "2026-02-11", "note": "They planned  March."}])
    (fact,), (note,) = answer.facts, answer.notes
    assert (fact.change, fact.target, fact.fact) == ("replace", 12, CITY["fact"])
    assert (fact.subject, fact.slot) == ("user", "home city")
    assert (fact.since, fact.said_in) == (day(2026, 2, 10), 7)
    assert (note.text, note.day) == ("They planned March.", day(2026, 2, 11))


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({"do": "replace 12"}, ("replace", 12)),
        ({"do": "Replace #12!"}, ("replace", 12)),
        ({"do": "replace", "number": "12"}, ("replace", 12)),
        ({"do": "replace", "target": "fact 12"}, ("replace", 12)),
        ({"op": "UPDATE", "id": 12}, ("replace", 12)),
        ({"replace": 12}, ("replace", 12)),
        ({"replaces": "#12"}, ("replace", 12)),
        ({"do": "end 12"}, ("end", 12)),
        ({"event": "DELETE", "id": "12"}, ("end", 12)),
        ({"do": "same 12"}, ("same", 12)),
        ({"do": "add"}, ("add", None)),
        ({}, ("add", None)),
        ({"do": None, "replace": None, "end": "2026-02-10"}, ("add", None)),
        ({"do": "replace"}, ("add", None)),
        ({"do": "replace 99"}, ("add", None)),
        ({"do": "add, replace 12, end 12 or same 12"}, ("add", None)),
    ],
)
def test_variants_of_a_change_mean_the_same(
    fields: dict[str, Any], change: tuple[str, int | None]
) -> None:
    """A new sentence stays worth keeping when what it should replace is not known."""
    (fact,) = parsed(CITY | fields).facts
    assert (fact.change, fact.target) == change


def test_bare_changes_need_no_other_field() -> None:
    """Nor the JSON object around them."""
    found = parsed("same 12", {"do": "end 3"}).facts
    assert [(fact.change, fact.target) for fact in found] == [("end", 3), ("same", 12)]


def test_unknown_numbers_change_nothing_and_are_named() -> None:
    """Whatever the model takes them for."""
    answer = parsed({"do": "end 4"}, "same 5", {"do": "end"}, CITY | {"do": "end 10 to the 30"})
    assert (answer.facts, answer.unknown) == ((), (4, 5, 10))


def test_one_known_fact_is_changed_once() -> None:
    """The first change counts."""
    found = parsed({"do": "end 3"}, CITY | {"do": "replace 3"}).facts
    assert [(fact.change, fact.target) for fact in found] == [("end", 3)]


def test_message_that_the_user_did_not_write_says_nothing() -> None:
    """The numbers of the agent's own messages count as unknown."""
    found = parsed(*(CITY | {"fact": f"City {n}.", "message": n} for n in (7, 8, "m9", "m", None)))
    assert [fact.said_in for fact in found.facts] == [7, None, 9, None, None]


@pytest.mark.parametrize(
    ("since", "start"),
    [
        ("2026-02-10", (2026, 2, 10)),
        ("2026-02-10T08:00:00Z", (2026, 2, 10)),
        ("2026-2-9", (2026, 2, 9)),
        ("2026-02", (2026, 2, 1)),
        (2019, (2019, 1, 1)),
        ("2026-02-30", None),
        ("0001-01-01", None),
        ("9999-12-31", None),
        ("20260210", None),
        ("yesterday", None),
        (True, None),
        (None, None),
        (["2026"], None),
    ],
)
def test_date_is_the_start_of_its_day_in_the_zone(
    since: object, start: tuple[int, int, int] | None
) -> None:
    """What is no date is left out, and the fact stays."""
    (fact,) = parsed(CITY | {"since": since}).facts
    assert fact.since == (None if start is None else day(*start))


@pytest.mark.parametrize(
    ("confidence", "kept"),
    [
        (0.69, None),
        (0.7, 0.7),
        (0.75, 0.75),
        (1, 1),
        ("0.8", 0.8),
        ("80%", 0.8),
        ("High", 0.9),
        ("low", None),
        (None, 0.7),
        (7, None),
        (-1, None),
        (10**400, None),
        ("nan", None),
        ("sure", None),
        (True, None),
        ({}, None),
    ],
)
def test_fact_is_kept_from_a_confidence_of_seven_tenths_on(
    confidence: object, kept: float | None
) -> None:
    """A missing one is enough, an unusable one is not."""
    found = parsed(CITY | {"confidence": confidence}).facts
    assert [fact.confidence for fact in found] == ([] if kept is None else [kept])


def test_only_well_formed_facts_are_kept_each_once() -> None:
    """Other list items are skipped; five changes at most, and all that is the same."""
    broken = [{"fact": ""}, "y", None, [CITY], CITY | {"category": "gossip"}, {"fact": "x" * 501}]
    many = [CITY | {"fact": f"City {n}."} for n in range(9)]
    answer = parsed(*broken, CITY, CITY, *many, "same 12", "same 3")
    assert [fact.fact for fact in answer.facts] == [
        CITY["fact"],
        *(f"City {n}." for n in range(4)),
        "",
        "",
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([CITY]),
        json.dumps(CITY),
        json.dumps({"facts": [CITY]}),
        json.dumps({"operations": [CITY | {"text": ""}]}),
        json.dumps({"facts": [{"fact": CITY["fact"]}]}),
        json.dumps({"facts": [CITY | {"category": "Backgrounds"}]}),
        f"Here you are:\n```json\n{json.dumps({'facts': [CITY]})}\n```\nDone.",
        "{facts: [{'fact': 'The user lives in Krakow.', 'category': 'background',}]}",
    ],
)
def test_fact_is_found_however_it_is_wrapped(text: str) -> None:
    """The format of older templates, lists, prose, code fences, JSON that is not quite JSON."""
    (fact,) = parse_answer(text, CONTEXT).facts
    assert (fact.fact, fact.category, fact.change) == (CITY["fact"], "background", "add")


def test_what_the_template_says_is_no_fact() -> None:
    """A small model repeats the example."""
    answer = parse_answer(TEMPLATE[TEMPLATE.index('{"facts"') :], CONTEXT)
    assert (answer.facts, answer.notes) == ((), ())


def test_notes_are_three_short_lines() -> None:
    """Each once, with its date in a field, before it, or not at all."""
    notes = ["2026-02-10: Went home.", "x" * 300, {"text": "Tea.", "day": 3}, "Tea.", "More."]
    found = parsed(notes=notes).notes
    assert [(note.text, note.day) for note in found] == [
        ("Went home.", day(2026, 2, 10)),
        ("x" * 199 + "…", None),
        ("Tea.", None),
    ]
    assert parsed(notes="One line.").notes[0].text == "One line."


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)
NAMES = ("do", "fact", "category", "confidence", "since", "message", "slot", "replace", "note")


@given(st.lists(JSON | st.dictionaries(st.sampled_from(NAMES), JSON)), JSON)
def test_no_answer_is_an_error(items: list[Any], notes: object) -> None:
    """Whatever stands where something else was asked for."""
    answer = parsed(*items, notes=notes)
    assert len(answer.facts) <= len(items)
