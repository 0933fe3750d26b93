"""JSON among other text; recorded cases are in tests/test_vectors.py."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker import jsontext


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
    assert jsontext.parse(text) == value


@pytest.mark.parametrize("text", ["", "no json", '{"a": 1', "{bad}", "[NaN]", "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    """Also when it is deep or long."""
    with pytest.raises(ValueError, match="no JSON"):
        jsontext.parse(text)


@given(st.text(alphabet='{}[]",:1a\\ \n'))
def test_any_text_is_read_or_refused(text: str) -> None:
    """The result is JSON, or ValueError is raised."""
    with contextlib.suppress(ValueError):
        json.dumps(jsontext.parse(text))


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
    assert jsontext.repaired(text) == value
