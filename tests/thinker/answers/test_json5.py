"""JSON as models write it is parsed, and anything else is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from thinker.answers.json5 import AnswerSyntaxError, parse_json5, parse_truncated_json5

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
TOKENS = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "'",
    "\\",
    "a",
    "\n",
    "//",
    "/*",
    "*/",
    "1",
    "-",
    "é",
    "true",
    '"k":',
    "\\u",
    "\\ud83d",
    "\\ude00",
    "0x1F",
    " ",
    ".",
]
LIKE_JSON = st.lists(st.sampled_from(TOKENS), max_size=40).map("".join)


@given(VALUES, st.booleans())
def test_json_is_read_as_json(value: JsonValue, ascii_only: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    """Everything that the standard library writes, with or without escapes."""
    assert parse_json5(json.dumps(value, ensure_ascii=ascii_only)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1, $b: 'x', \"c\": [1, 2,],}", {"a": 1, "$b": "x", "c": [1, 2]}),
        ("// note\n{/* x */ a: // y\n +1.5e3}/* z */", {"a": 1500.0}),
        ("[0x1F, -0xA, .5, 5., '\\x41\\\n\\'\\q']", [31, -10, 0.5, 5.0, "A'q"]),
        ('"line\nbreak"', "line\nbreak"),
        ('"\\ud83d\\ude00 \\ud83d"', "😀 \ufffd"),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_lenient_json_of_models_is_read(text: str, value: JsonValue) -> None:
    """JSON5, line breaks in strings, and lone surrogates."""
    assert parse_json5(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{]",
        "[1 2]",
        "{a 1}",
        "{1: 2}",
        "[tru]",
        "1 2",
        "NaN",
        "-Infinity",
        "1e999",
        "01",
        '"\\u12"',
        "[,]",
        "/x",
        "[" * 100 + "]" * 100,
        "9" * 500,
        "'" + '"',
    ],
)
def test_other_text_is_refused(text: str) -> None:
    """So are values deeper or longer than any answer."""
    with pytest.raises(AnswerSyntaxError):
        parse_json5(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "hel', {"a": "hel"}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": [1, {"b": "c\\u00', {"a": [1, {"b": "c"}]}),
        ("[1, /* note", [1]),
        ("[1] and more", [1]),
        ("", None),
    ],
)
def test_cut_text_is_read_as_far_as_it_goes(text: str, value: JsonValue) -> None:
    """Open strings and containers are closed; a key without a value is dropped."""
    assert parse_truncated_json5(text) == value


@given(LIKE_JSON)
def test_text_is_a_value_or_a_syntax_error(text: str) -> None:
    """What is complete has the same value when it is read as cut."""
    try:
        value = parse_json5(text)
    except AnswerSyntaxError:
        return
    assert parse_truncated_json5(text) == value
