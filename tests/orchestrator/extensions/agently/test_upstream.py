"""The rules of Agently where ours differ."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.agently.upstream import (
    format_upstream_requirement,
    parse_upstream_answer,
)
from thinker.formats.prompts.grammar import parse_output_schema

KEYS = ("reply", "score")


def test_first_of_several_answers_is_taken() -> None:
    """A cut end is the only fault repaired."""
    text = '{"x": 1} {"reply": "first"} {"reply": "both", "score": 2}'
    assert parse_upstream_answer(text, KEYS).value == {"reply": "first"}
    assert parse_upstream_answer('{"reply": "hi" "score": 3}', KEYS).value is None
    assert parse_upstream_answer('{"reply": "hel', KEYS).repair == "truncated"


@given(st.lists(st.sampled_from(["{", "}", "[", "]", '"', "\\", "x", "\n"]), max_size=60))
def test_parser_accepts_any_text(pieces: list[str]) -> None:
    """A text without an answer gives no value and no error."""
    answer = parse_upstream_answer("".join(pieces), KEYS)
    assert answer.located is not None or answer.value is None


def test_keys_and_descriptions_are_written_as_they_are() -> None:
    """Quotes and line breaks in them break the layout."""
    schema = parse_output_schema({'a"b': (str, "one\n  two")})
    assert format_upstream_requirement(schema) == '{\n  "a"b": <str> // one\n  two\n}'


def test_content_of_a_tuple_is_indented_too_far() -> None:
    """By one level."""
    schema = parse_output_schema({"a": ({"b": (int,)}, "d")})
    assert format_upstream_requirement(schema) == '{\n  "a": {\n      "b": <int>\n    } // d\n}'
