"""The parser of tool calls in text: the same events for every chunking, in linear time."""

import json

import pytest
from fuzzing.texts import CALLS, STRICT, parse
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.text_tool_calls.worker.cursor import JsonCursor
from orchestrator.extensions.text_tool_calls.worker.inject import format_tool_call
from orchestrator.extensions.text_tool_calls.worker.parser import (
    CLOSE,
    OPEN,
    TextDelta,
    TextToolCall,
    ToolCallProblem,
)
from orchestrator.extensions.text_tool_calls.worker.payload import ParserRules


@given(CALLS)
def test_nothing_of_an_answer_is_lost(answer: str) -> None:
    """Text and the raw blocks of problems add up to the answer, apart from the calls."""
    rest = answer
    for event in parse([answer], ParserRules(allowed=("nothing",))):
        if isinstance(event, TextDelta):
            assert rest.startswith(event.text)
            rest = rest[len(event.text) :]
        elif isinstance(event, ToolCallProblem) and event.fatal:
            assert event.raw == event.shown
            assert answer[event.offset :].startswith(event.raw)
            rest = rest.removeprefix(event.raw)
    assert rest == ""


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=30)), max_size=5))
def test_every_call_that_is_written_right_is_found(calls: list[tuple[str, str]]) -> None:
    """Whatever the arguments contain, including tags and quotes."""
    expected = [TextToolCall("search", json.dumps({"q": query})) for _, query in calls]
    answer = "".join(
        between.replace("<", "") + format_tool_call(call.name, call.arguments)
        for (between, _), call in zip(calls, expected, strict=True)
    )
    assert [event for event in parse(list(answer)) if not isinstance(event, TextDelta)] == expected


def test_closing_tag_in_an_argument_does_not_close() -> None:
    """The JSON is scanned, for text arguments and objects."""
    query = json.dumps({"q": f"a {CLOSE} b"})
    assert parse([format_tool_call("search", query)]) == [TextToolCall("search", query)]
    plain = OPEN + '{"name":"search","arguments":{"q":"' + CLOSE + '"}}' + CLOSE
    coerced, call = parse([plain])
    assert isinstance(coerced, ToolCallProblem)
    assert (coerced.problem.kind, coerced.fatal) == ("arguments_coerced", False)
    assert call == TextToolCall("search", '{"q":"' + CLOSE + '"}')


def test_broken_block_does_not_swallow_the_next_one() -> None:
    """An unclosed quote ends with its block."""
    broken = OPEN + '{"name":"search","arguments":"{}' + CLOSE
    good = format_tool_call("search", "{}")
    problem, between, call = parse([f"{broken} and {good}"])
    assert isinstance(problem, ToolCallProblem)
    assert (problem.problem.kind, problem.raw, problem.offset) == ("invalid_json", broken, 0)
    assert (between, call) == (TextDelta(" and "), TextToolCall("search", "{}"))


def test_text_and_calls_keep_their_order_and_place() -> None:
    """Also within one chunk; a problem gives the offset of its block."""
    good = format_tool_call("search", "{}")
    events = parse([f"a{good}b{OPEN}[]{CLOSE}c"])
    assert events[:3] == [TextDelta("a"), TextToolCall("search", "{}"), TextDelta("b")]
    problem = events[3]
    assert isinstance(problem, ToolCallProblem)
    assert problem.problem.kind == "missing_name"
    assert problem.offset == len(f"a{good}b")
    assert events[4:] == [TextDelta("c")]


@pytest.mark.parametrize(
    ("payload", "arguments"),
    [
        ('{"name":"search","arguments":"{}",}', "{}"),
        ('{"name":"search","arguments":"{}"}>', "{}"),
        ('{"name":"search","arguments":"{}"}}', "{}"),
        ('{"name":"search","arguments":"{}"}]', "{}"),
        ('{"name":"search","arguments":"[1,]",}', "[1,]"),
    ],
)
def test_slip_is_repaired_and_reported(payload: str, arguments: str) -> None:
    """Only the known mistakes, and never inside a string."""
    assert parse([OPEN + payload + CLOSE]) == [TextToolCall("search", arguments, repaired=True)]


@pytest.mark.parametrize("end", ["", "</tool", " "])
def test_whole_payload_without_its_closing_tag_counts(end: str) -> None:
    """It is a call, and the missing tag is reported."""
    problem, call = parse([OPEN + '{"name":"search","arguments":"{}"}' + end])
    assert isinstance(problem, ToolCallProblem)
    assert (problem.problem.kind, problem.fatal) == ("unclosed_tag_recovered", False)
    assert call == TextToolCall("search", "{}")


def test_half_a_payload_comes_back_as_it_was_written() -> None:
    """Without a closing tag that the model never wrote."""
    half = OPEN + '{"name":"sea'
    unclosed, problem = parse(["text ", half])[1:]
    assert isinstance(unclosed, ToolCallProblem)
    assert isinstance(problem, ToolCallProblem)
    assert (unclosed.problem.kind, unclosed.shown) == ("unclosed_tag", "")
    assert (problem.problem.kind, problem.shown) == ("invalid_json", half)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('"{}"', None),
        ('"{\\"q\\":1}"', "$.q: 1 is not of type 'string'"),
        ('"[]"', "arguments must be an object"),
        ('{"q":"x"}', "arguments coerced to string"),
    ],
)
def test_strict_tool_is_held_to_its_whole_schema(arguments: str, problem: str | None) -> None:
    """Including types; an invalid call is dropped, and none of it is text."""
    block = OPEN + '{"name":"search","arguments":' + arguments + "}" + CLOSE
    (event,) = parse([block], STRICT)
    if problem is None:
        assert event == TextToolCall("search", "{}")
    else:
        assert isinstance(event, ToolCallProblem)
        assert (event.problem.message, event.fatal, event.shown) == (problem, True, "")


def test_missing_arguments_are_none() -> None:
    """They become an empty object; "parameters" counts as arguments."""
    problem, call = parse([OPEN + '{"name":"search"}' + CLOSE])
    assert isinstance(problem, ToolCallProblem)
    assert call == TextToolCall("search", "{}")
    other = OPEN + '{"name":"search","parameters":{"q":"x"}}' + CLOSE
    assert parse([other])[1] == TextToolCall("search", '{"q":"x"}')


@pytest.mark.parametrize(
    "unit",
    [
        OPEN + CLOSE,
        OPEN + '{"' + CLOSE,
        OPEN + '{"a' + CLOSE,
        OPEN + '\\"' + CLOSE,
        OPEN + '["","' + CLOSE,
        format_tool_call("search", CLOSE),
        '{"\\',
        "<tool_call",
    ],
)
@pytest.mark.parametrize("opening", ["", OPEN + '{"'])
def test_every_character_is_looked_at_a_few_times(
    monkeypatch: pytest.MonkeyPatch, unit: str, opening: str
) -> None:
    """However often a block is parsed again."""
    looked = 0
    advance = JsonCursor.advance

    def counted(self: JsonCursor, text: str) -> None:
        nonlocal looked
        looked += len(text)
        advance(self, text)

    monkeypatch.setattr(JsonCursor, "advance", counted)
    answer = opening + unit * 2000
    parse([answer])
    assert looked <= 4 * len(answer)


@pytest.mark.parametrize(
    "payload", ['{"name": "a", "arguments": "{}",}', '{"name": "a", "arguments": "{}"}>']
)
def test_payload_is_repaired_unless_the_rules_say_otherwise(payload: str) -> None:
    """Then it is text, with a problem."""
    answer = f"{OPEN}{payload}{CLOSE}"
    (call,) = parse([answer], ParserRules())
    assert call == TextToolCall("a", "{}", repaired=True)
    (problem,) = parse([answer], ParserRules(repair=False))
    assert isinstance(problem, ToolCallProblem)
    assert (problem.problem.kind, problem.shown) == ("invalid_json", answer)
