"""Answers are found in the text around them, and repairs are reported."""

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from thinker.answers.parse import MAX_SEARCHED, parse_answer

KEYS = ("reply", "score")
NOISE = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    "```json\n",
    "```",
    "<think>",
    "</think>",
    '{"reply": "a"}',
    "[OUTPUT]",
    '"""',
    "\n",
    "x",
    "\uff0c",
    "“",
    "\uff1a",
    "/*",
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Sure!\n```json\n{"reply": "a"}\n```\nDone {see above}', {"reply": "a"}),
        ('I think {maybe} this: {"reply": "a", "score": 1}', {"reply": "a", "score": 1}),
        ('{"reply": "draft"} no: {"reply": "final"}', {"reply": "final"}),
        ('{"x": 1} {"reply": "a", "score": 2} {"reply": "b"}', {"reply": "a", "score": 2}),
        ('<think>{"reply": "b", "score": 9}</think>{"reply": "a"}', {"reply": "a"}),
        ('Look [ here, and { there: {"reply": "a"}', {"reply": "a"}),
        ('[OUTPUT]:\n{"reply": """say "a\n"""}', {"reply": 'say "a\n'}),
        ("[1, 2]", [1, 2]),
    ],
)
def test_answer_is_found_in_the_text_around_it(text: str, value: JsonValue) -> None:
    """Among prose, fences, drafts, thoughts and meaningless brackets."""
    answer = parse_answer(text, KEYS)
    assert answer.value == value
    assert not answer.is_repaired


@pytest.mark.parametrize(
    ("text", "value", "repair"),
    [
        ('{"reply": "hel', {"reply": "hel"}, "truncated"),
        (
            '{"reply": "a", "items": [1, {"b": "c',
            {"reply": "a", "items": [1, {"b": "c"}]},
            "truncated",
        ),
        ('{"reply": "a\\', {"reply": "a"}, "truncated"),
        ('{"reply": "hi" "score": 3}', {"reply": "hi", "score": 3}, "syntax"),
        ('{"reply"：“hi，a”，"score"：3}', {"reply": "hi,a", "score": 3}, "syntax"),  # noqa: RUF001 - as models write
    ],
)
def test_repair_of_an_answer_is_reported(text: str, value: JsonValue, repair: str) -> None:
    """A cut end and broken syntax give a value that is marked as repaired."""
    answer = parse_answer(text, KEYS)
    assert (answer.value, answer.repair) == (value, repair)
    assert answer.is_repaired


@pytest.mark.parametrize("text", ["", "no JSON at all", "{maybe}", "{a b c}", "}", "{see: above"])
def test_prose_has_no_answer(text: str) -> None:
    """Words in brackets never become a value."""
    assert not parse_answer(text, KEYS).value


@given(st.lists(st.sampled_from(NOISE), max_size=60).map("".join))
def test_parser_accepts_any_text(text: str) -> None:
    """A text without an answer gives no value and no error."""
    answer = parse_answer(text, KEYS)
    assert answer.located is not None or answer.value is None


@pytest.mark.parametrize(
    "unit", ["{", "[", '{"a":', '"', "\\", "{x} ", "/*", "```\n{", "[OUTPUT]", '"""']
)
def test_work_grows_in_proportion_to_the_text(unit: str) -> None:
    """Eight times the text takes at most about eight times the steps."""
    assert _steps(unit * 2_400) < 12 * _steps(unit * 300) + 1_000


def _steps(text: str) -> int:
    """Count the lines of Python that parsing a text executes."""
    steps = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    previous = sys.gettrace()
    sys.settrace(count)
    try:
        parse_answer(text, KEYS)
    finally:
        sys.settrace(previous)
    return steps


def test_very_long_answer_is_read_only_if_it_is_json_as_a_whole() -> None:
    """Searching it would take long."""
    whole = '{"reply": "' + "a" * MAX_SEARCHED + '"}'
    assert parse_answer(whole, KEYS).value == {"reply": "a" * MAX_SEARCHED}
    assert parse_answer("Here: " + whole, KEYS).value is None
    assert parse_answer("[" * 100 + "]" * 100 + " " * MAX_SEARCHED, KEYS).value is None
