"""Answers are found in what stands around them, and what was mended is said."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from thinker.answers.complete import complete
from thinker.answers.locate import blocks
from thinker.answers.parse import parse

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
def test_the_answer_is_found(text: str, value: JsonValue) -> None:
    """Among prose, fences, drafts, thoughts and brackets that mean nothing."""
    answer = parse(text, KEYS)
    assert answer.value == value
    assert not answer.repaired


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
def test_what_was_mended_is_said(text: str, value: JsonValue, repair: str) -> None:
    """A cut end and broken syntax give a value, never in silence."""
    answer = parse(text, KEYS)
    assert (answer.value, answer.repair) == (value, repair)
    assert answer.repaired


@pytest.mark.parametrize("text", ["", "no JSON at all", "{maybe}", "{a b c}", "}", "{see: above"])
def test_prose_is_no_answer(text: str) -> None:
    """Nothing is made up from words in brackets."""
    assert not parse(text, KEYS).value


def test_the_first_of_several_is_taken_as_upstream_takes_it() -> None:
    """On request, and then nothing but the end is mended."""
    text = '{"x": 1} {"reply": "first"} {"reply": "both", "score": 2}'
    assert parse(text, KEYS, "4.0.7").value == {"reply": "first"}
    assert parse('{"reply": "hi" "score": 3}', KEYS, "4.0.7").value is None
    assert parse('{"reply": "hel', KEYS, "4.0.7").repair == "truncated"


@given(st.lists(st.sampled_from(NOISE), max_size=60).map("".join))
def test_no_text_makes_the_parser_fail(text: str) -> None:
    """Whatever a model writes, there is an answer or none."""
    for answer in (parse(text, KEYS), parse(text, KEYS, "4.0.7")):
        assert answer.located is not None or answer.value is None
    assert complete(complete(text)).startswith(complete(text)[:1])


@pytest.mark.parametrize(
    "unit", ["{", "[", '{"a":', '"', "\\", "{x} ", "/*", "```\n{", "[OUTPUT]", '"""']
)
def test_the_cost_grows_with_the_text_not_with_its_square(unit: str) -> None:
    """Eight times the text costs no more than about eight times the time."""
    small = min(_seconds(unit * 4_000) for _ in range(3))
    large = min(_seconds(unit * 32_000) for _ in range(2))
    assert large < 30 * small + 0.05


def _seconds(text: str) -> float:
    start = time.process_time()
    parse(text, KEYS)
    blocks(text)
    complete(text)
    return time.process_time() - start
