"""The reader takes JSON as models write it, in any pieces, and refuses anything else."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from thinker.answers.reader import AnswerReader, AnswerSyntaxError, loads

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


def pieces(text: str, cuts: Sequence[int]) -> list[str]:
    """The text cut at these places."""
    at = sorted(cut % (len(text) + 1) for cut in cuts)
    return [text[i:j] for i, j in zip([0, *at], [*at, len(text)], strict=True)]


@given(VALUES, st.booleans())
def test_json_is_read_as_json(value: JsonValue, ascii_only: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    """Whatever the standard library writes, escapes and all."""
    assert loads(json.dumps(value, ensure_ascii=ascii_only)) == value


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
def test_what_models_write_instead_of_json_is_read(text: str, value: JsonValue) -> None:
    """JSON5, line breaks in strings, half a surrogate."""
    assert loads(text) == value


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
def test_anything_else_is_refused(text: str) -> None:
    """Also what is deeper or longer than an answer is."""
    with pytest.raises(AnswerSyntaxError):
        loads(text)


@given(LIKE_JSON, st.lists(st.integers(0, 200), max_size=12))
def test_pieces_give_what_the_whole_gives(text: str, cuts: list[int]) -> None:
    """The value, or where it fails; and deltas add up to the strings that are done."""
    assert _outcome([text]) == _outcome(pieces(text, cuts))


@given(VALUES.filter(lambda value: isinstance(value, dict | list)))
def test_every_character_alone_gives_the_same_events(value: JsonValue) -> None:
    """A stream of single characters is the hardest."""
    text = json.dumps(value)
    assert _outcome(list(text)) == _outcome([text])


def test_a_cut_text_is_what_came_of_it() -> None:
    """Open strings and containers are closed where they end."""
    reader = AnswerReader()
    reader.feed('{"a": "hel', last=False)
    events = reader.close()
    assert reader.value == {"a": "hel"}
    assert [(event.path, event.value) for event in events] == [("a", "hel")]


def _outcome(parts: list[str]) -> object:
    """Value or error, the events of whole values, and each string as its deltas give it."""
    reader = AnswerReader()
    done: list[object] = []
    said: dict[str, str] = {}
    try:
        for number, part in enumerate(parts):
            for event in reader.feed(part, last=number == len(parts) - 1)[0]:
                if event.kind == "delta":
                    said[event.path] = said.get(event.path, "") + event.delta
                else:
                    done.append((event.path, event.value))
                    text = said.pop(event.path, "")
                    assert event.value == text or not isinstance(event.value, str)
    except AnswerSyntaxError as error:
        return str(error)
    return reader.done, reader.value, done, said
