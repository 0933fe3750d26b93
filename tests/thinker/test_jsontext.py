"""JSON among other text; recorded cases are in tests/test_vectors.py."""

import contextlib
import json

import pytest
from fakes.call_count import call_count
from hypothesis import given
from hypothesis import strategies as st

from thinker import jsontext

MOST_CALLS = 6 * jsontext.REPAIR_EFFORT


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Here:\n```json\n{"facts": []}\n```\nDone.', {"facts": []}),
        ('note {x} [sic] then {"a": "}"} tail', {"a": "}"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ("null", None),
    ],
)
def test_first_value_is_found(text: str, value: object) -> None:
    """Whatever text surrounds it."""
    assert jsontext.parse_first_value(text) == value


@pytest.mark.parametrize("text", ["", "no json", '{"a": 1', "{bad}", "[NaN]", "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    """Also when it is deep or long."""
    with pytest.raises(ValueError, match="no JSON"):
        jsontext.parse_first_value(text)


@given(st.text(alphabet='{}[]",:1a\\ \n'))
def test_any_text_is_read_or_refused(text: str) -> None:
    """The result is JSON, or ValueError is raised."""
    with contextlib.suppress(ValueError):
        json.dumps(jsontext.parse_first_value(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1 "b": [2,}', {"a": 1, "b": [2]}),
        ("{'```json{```json", None),  # an assertion of the library fails
        ('{"a": "\\ud800', None),
        ("no braces", None),
        ('{"a": ' * 10_000, None),
    ],
)
def test_broken_json_is_repaired_or_given_up(text: str, value: object) -> None:
    """Whatever the repair library returns, and without taking long."""
    assert jsontext.repair_json_object(text, jsontext.RepairBudget()) == value


@pytest.mark.parametrize("unit", ["(", 'a"', "a,", "“a", '"', '",', "1 ", "{[", "null", "}{"])
@pytest.mark.parametrize("start", ["{", '{"a": ["', "[{"])
def test_repair_stops_when_its_effort_is_spent(start: str, unit: str) -> None:
    """The library took minutes for some of these when they were eight times as long."""
    text = (start + unit * jsontext.REPAIR_LIMIT)[: jsontext.REPAIR_LIMIT]
    budget = jsontext.RepairBudget()
    work = call_count(lambda: jsontext.repair_json_object(text, budget))
    assert budget.left < jsontext.REPAIR_EFFORT - len(text)
    assert work < MOST_CALLS


def test_repair_does_not_begin_without_effort_left() -> None:
    """Many small repairs of one answer add up."""
    budget = jsontext.RepairBudget(100)
    assert jsontext.repair_json_object("{'a': 1}", budget) == {"a": 1}
    assert jsontext.repair_json_object("{'a': 1}" + " " * 100, budget) is None
    assert jsontext.repair_json_object("{'a': 1}", budget) is None


def test_search_for_json_gives_up_on_much_that_only_begins_like_it() -> None:
    """Each bracket could make it read the rest again."""
    with pytest.raises(ValueError, match="no JSON"):
        jsontext.parse_first_value("[" * 60 + "1," * jsontext.MAX_TRIED + "] {}")
    assert jsontext.parse_first_value("[" * 60 + "1," * 100 + "] {}") == {}
