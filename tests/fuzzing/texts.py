"""What models write: tool calls as text, and structured answers."""

from typing import Any, TypeAlias

from fuzzing.target import CUTS, Target, pieces, repeated
from hypothesis import strategies as st

from orchestrator.extensions.text_tool_calls.worker.inject import format_tool_call
from orchestrator.extensions.text_tool_calls.worker.parser import (
    CLOSE,
    OPEN,
    Event,
    TextCallParser,
    TextDelta,
    TextToolCall,
    ToolCallProblem,
)
from orchestrator.extensions.text_tool_calls.worker.payload import ParserRules
from thinker.answers.json_blocks import close_open_json, extract_json_blocks
from thinker.answers.parse import parse_answer

KEYS = ("reply", "score")
STRICT = ParserRules(
    allowed=("search",),
    strict={"search": True},
    schemas={"search": {"type": "object", "properties": {"q": {"type": "string"}}}},
)
LENIENT = ParserRules(allowed=("search",))
TAGS = (OPEN, CLOSE, '{"name":"search"', ',"arguments":', '"{}"', "}", '"', "\\", " ", "<", "x")
MARKS = ("{", "}", "[", "]", '"', "\\", ",", ":", "'", "//", "/*", "*/", "\n", "x", "1", "null")
AROUND = ("```json\n", "```", "<think>", "</think>", "[OUTPUT]", '"""', "\uff0c", "“", "\uff1a")
WHOLE = (
    '{"reply": "a"}',
    '{"reply": {"b": [1, {"c": null}]}, "score": 1.5}',
    '"reply": ',
    "[1, 2]",
)
SNIPPETS = st.sampled_from((*MARKS, *AROUND, *WHOLE)) | st.text(max_size=5)

CALLS = st.lists(
    st.one_of(
        st.sampled_from(TAGS),
        st.text(max_size=6),
        st.builds(format_tool_call, st.sampled_from(("search", "other")), st.text(max_size=12)),
    ),
    max_size=30,
).map("".join)
ANSWERS = st.lists(SNIPPETS, max_size=40).map("".join)
Chunked: TypeAlias = tuple[str, list[int], Any]


def parse(chunks: list[str], rules: ParserRules = LENIENT) -> list[Event]:
    """The events of an answer, its text joined where nothing stands between."""
    parser = TextCallParser(rules)
    events: list[Event] = []
    for event in [event for chunk in chunks for event in parser.feed(chunk)] + list(
        parser.finish()
    ):
        last = events[-1] if events else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            events[-1] = TextDelta(last.text + event.text)
        else:
            events.append(event)
    return events


def check_calls(given: Chunked) -> None:
    """The same events for every chunking; every block is a call or a problem at its place."""
    answer, cuts, rules = given
    whole = parse([answer], rules)
    assert parse(list(answer), rules) == whole
    assert parse(pieces(answer, cuts), rules) == whole
    for event in whole:
        if isinstance(event, ToolCallProblem):
            assert answer.startswith(event.raw, event.offset)
            assert event.shown in ("", event.raw)
        elif isinstance(event, TextToolCall):
            assert event.name == event.name.strip() != ""


def check_answer(text: str) -> None:
    """A value or none, never an error."""
    # Tests of the core use this module too.
    from orchestrator.extensions.agently.upstream import (  # noqa: PLC0415 - see above
        parse_upstream_answer,
    )

    for answer in (parse_answer(text, KEYS), parse_upstream_answer(text, KEYS)):
        assert answer.located is not None or answer.value is None


def _read_everything(text: str) -> None:
    parse_answer(text, KEYS)
    extract_json_blocks(text)
    close_open_json(text)


TARGETS = {
    "toolcalls": Target(
        st.tuples(CALLS, CUTS, st.sampled_from((STRICT, LENIENT, ParserRules()))),
        check_calls,
        st.lists(st.sampled_from(TAGS) | st.text(max_size=3), min_size=1, max_size=6)
        .map("".join)
        .filter(bool),
        lambda unit, size: lambda: parse([repeated(unit, size)]),
    ),
    "answers": Target(
        ANSWERS,
        check_answer,
        st.lists(SNIPPETS, min_size=1, max_size=6).map("".join).filter(bool),
        lambda unit, size: lambda: _read_everything(repeated(unit, size)),
    ),
}
