"""The JSON reader: it agrees with the standard one and knows the line of each part."""

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agentsfile import AgentsFileError, parse_agents_file
from orchestrator.agentsfile.positions import (
    MAX_REPEATED,
    MAX_VALUES,
    JsonPath,
    JsonSyntaxError,
    parse_json_document,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20
)


@given(VALUES, st.sampled_from([None, 0, 2]))
def test_every_json_text_is_read_as_the_standard_decoder_does(
    value: object, indent: int | None
) -> None:
    """Whatever white space is between."""
    assert parse_json_document(json.dumps(value, indent=indent)).value == value


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No other exception reaches the daemon."""
    with suppress(JsonSyntaxError):
        parse_json_document(text)


@given(VALUES)
def test_any_json_is_loaded_or_refused(value: object) -> None:
    """Well-formed nonsense raises `AgentsFileError` at most, also inside the known sections."""
    sections = ("agents", "bindings", "channels", "mcpServers", "models", "fallbackAgentId")
    for content in (value, {"agents": [value]}, dict.fromkeys(sections, value)):
        with pytest.raises(AgentsFileError):
            parse_agents_file(json.dumps(content).encode())


def test_lines_are_those_of_the_keys_and_items() -> None:
    """A part that has no line of its own takes that of the part around it."""
    document = parse_json_document('{\n "a":\n  1,\n "b": [\n  {},\n  {"c": 2}\n ]\n}')
    assert document.find_line(()) == 1
    assert document.find_line(("a",)) == 2
    assert document.find_line(("b", 1)) == 6
    assert document.find_line(("b", 1, "c")) == 6
    assert document.find_line(("b", 0, "missing")) == 5


def test_line_of_a_name_that_appears_twice_is_that_of_the_last() -> None:
    """That one counts, and a message says so."""
    document = parse_json_document('{\n "a": {"x": 1},\n "a": {\n "b": 2}\n}')
    assert document.find_line(("a",)) == 3
    assert document.find_line(("a", "b")) == 4
    assert document.has_part(("a", "b"))
    assert not document.has_part(("a", "x"))


@given(VALUES, st.sampled_from([None, 2]))
def test_every_part_has_a_place(value: object, indent: int | None) -> None:
    """Whatever it is inside of, its own line starts with it."""
    document = parse_json_document(json.dumps(value, indent=indent))
    for path in _list_paths(document.value, ()):
        assert document.has_part(path)
        assert not document.has_part((*path, -1))


def _list_paths(value: object, at: JsonPath) -> Iterator[JsonPath]:
    yield at
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for step, inner in members:
            yield from _list_paths(inner, (*at, step))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"a": 1,\n}', 2, "remove the comma"),
        ("[1,\n]", 2, "remove the comma"),
        ('{\n// why\n"a": 1}', 2, "no comments"),
        ('{"a": 1 /* why */}', 1, "no comments"),
        ("{'a': 1}", 1, "double quotes"),
        ("['a']", 1, "double quotes"),
        ('{\n"a": \u201cb\u201d}', 2, 'use straight double quotes for text: " in place of \u201c'),
        ("{\n\u201ea\u201d: 1}", 2, "straight double quotes"),
        ('{"a": 1\n"b": 2}', 2, 'expected ","'),
        ('{"a"\n1}', 2, 'expected ":"'),
        ('{"a": "x\ny"}', 1, "must end on the line"),
        ('{"a":\n', 2, "ends too early"),
        ('{"a": NaN}', 1, "not a finite number"),
        ('{"a": 1e999}', 1, "not a finite number"),
        ("9" * 5000, 1, "too long"),
        ('"\\ud800"', 1, "surrogate"),
        ("{} {}", 1, "follows the end"),
        ("[" * 100_000, 1, "levels deep"),
        ('{"a":' * 100_000, 1, "levels deep"),
    ],
)
def test_syntax_error_has_its_line_and_what_to_do(text: str, line: int, words: str) -> None:
    """The mistakes that people make, and some that only attackers do."""
    with pytest.raises(JsonSyntaxError, match=words) as caught:
        parse_json_document(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "text",
    [
        "[" + "0," * MAX_VALUES + "0]",
        "{" + '"a": 1, ' * (MAX_REPEATED + 1) + '"a": 1}',
    ],
)
def test_file_that_would_take_minutes_to_check_is_refused(text: str) -> None:
    """The size alone does not bound the work: 8 MiB hold four million values."""
    with pytest.raises(JsonSyntaxError, match="is it the right file"):
        parse_json_document(text)
