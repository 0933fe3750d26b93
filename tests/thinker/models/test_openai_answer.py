"""Answers in OpenAI's format, with the deviations of compatible servers."""

from typing import Any

import orjson
import pytest

from thinker.models.base import ModelResponse
from thinker.models.came_with import MAX_EXTRAS
from thinker.models.collector import MAX_TEXT
from thinker.models.openai_answer import OpenAIAnswer
from thinker.protocol.messages import Extras, ToolCall, Usage


def whole(message: dict[str, Any], finish: str | None = "stop", **fields: Any) -> ModelResponse:
    """Return the response of a whole completion."""
    answer = OpenAIAnswer("groq", "m")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    answer.feed(orjson.dumps({"choices": [choice], **fields}))
    assert answer.finished
    return answer.build_response("")


def streamed(*deltas: dict[str, Any], finish: str = "tool_calls") -> ModelResponse:
    """Return the response of a stream of deltas."""
    answer = OpenAIAnswer("groq", "m")
    for delta in deltas:
        answer.feed(orjson.dumps({"choices": [{"delta": delta}]}))
    answer.feed(orjson.dumps({"choices": [{"delta": {}, "finish_reason": finish}]}))
    return answer.build_response("")


def call(**fields: Any) -> dict[str, Any]:
    """Return a delta with one tool-call part."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {"tool_calls": [{**fields, "function": function}]}


def test_text_reasoning_and_usage_are_read() -> None:
    """Reasoning is separate from the content; cached tokens are counted."""
    response = whole(
        {"content": "hi", "reasoning_content": "hmm"},
        id="c1",
        model="m-2025",
        usage={
            "prompt_tokens": 9,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
    )
    assert response.message.content == "hi"
    assert response.message.reasoning == "hmm"
    assert response.usage == Usage(prompt=9, completion=2, cached=4)
    assert (response.model, response.request_id) == ("groq/m-2025", "c1")
    assert response.finish == "done"


@pytest.mark.parametrize(
    ("message", "finish", "expected"),
    [
        ({"content": "a"}, "length", "length"),
        ({"content": "a"}, "content_filter", "refused"),
        ({"content": None, "refusal": "I can not"}, "stop", "refused"),
        ({"content": "a"}, None, "done"),
        ({"content": "a"}, "eos", "done"),
    ],
)
def test_finish_reasons_are_ours(message: dict[str, Any], finish: str, expected: str) -> None:
    """Length and refusal are distinct from every other end."""
    response = whole(message, finish)
    assert response.finish == expected
    assert response.message.content in {"a", "I can not"}


@pytest.mark.parametrize(
    "message",
    [
        {"content": None},
        {},
        {"content": "", "tool_calls": None, "reasoning": {"odd": 1}},
        {"content": []},
    ],
)
def test_an_empty_message_is_empty_text(message: dict[str, Any]) -> None:
    """Null, absent and odd fields are accepted."""
    assert whole(message).message.content == ""


def test_content_in_parts_is_joined() -> None:
    """Some servers send a list of parts instead of text."""
    parts = [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]
    assert whole({"content": parts}).message.content == "ab"


def test_tool_calls_of_a_whole_answer_are_read() -> None:
    """Arguments as text and as an object, ids missing and repeated."""
    calls = [
        {"id": "x", "function": {"name": "a", "arguments": '{"n":1}'}},
        {"id": "x", "function": {"name": "b", "arguments": {"n": 2}}},
        {"function": {"name": "c", "arguments": "nonsense"}},
        {"function": {"arguments": "{}"}},
    ]
    assert whole({"content": None, "tool_calls": calls}).message.tool_calls == (
        ToolCall(id="x", name="a", arguments={"n": 1}),
        ToolCall(id="x_2", name="b", arguments={"n": 2}),
        ToolCall(id="call_2", name="c", malformed="nonsense"),
    )


A = ToolCall(id="1", name="a", arguments={"n": 1})
B = ToolCall(id="2", name="b", arguments={"n": 2})


@pytest.mark.parametrize(
    "deltas",
    [
        [
            call(index=0, id="1", name="a", arguments='{"n"'),
            call(index=1, id="2", name="b", arguments='{"n":'),
            call(index=0, arguments=":1}"),
            call(index=1, arguments="2}"),
        ],
        [
            call(index=1, id="2", name="b", arguments='{"n":2}'),
            call(index=0, id="1", name="a", arguments='{"n":1}'),
        ],
        [
            call(index=0, id="1", name="a", arguments='{"n":1}'),
            call(index=0, id="2", name="b", arguments='{"n":2}'),
        ],
        [
            call(id="1", name="a", arguments='{"n"'),
            call(arguments=":1}"),
            call(id="2", name="b", arguments='{"n":2'),
            call(id="2", arguments="}"),
        ],
        [
            {
                "tool_calls": [
                    call(id="1", name="a", arguments='{"n":1}')["tool_calls"][0],
                    call(id="2", name="b", arguments='{"n":2}')["tool_calls"][0],
                ]
            }
        ],
        [
            call(index=0, id="1", name="a", arguments=""),
            call(index=0, id="1", name="a", arguments='{"n":1}'),
            call(index=1, id="2", name="b", arguments=None),
            call(index=1, id="", name="", arguments='{"n":2}'),
        ],
    ],
    ids=["interleaved", "out of order", "all index 0", "no index", "one chunk", "name repeated"],
)
def test_streamed_tool_calls_are_put_together(deltas: list[dict[str, Any]]) -> None:
    """By index if present, otherwise by id and name."""
    assert streamed(*deltas).message.tool_calls == (A, B)


def test_calls_without_index_and_id_are_told_apart_by_their_names() -> None:
    """The sparsest form still gives two calls."""
    response = streamed(call(name="a", arguments="{}"), call(name="b", arguments="{}"))
    assert [(c.id, c.name) for c in response.message.tool_calls] == [
        ("call_0", "a"),
        ("call_1", "b"),
    ]


def test_a_continuation_with_a_strange_id_belongs_to_the_last_call() -> None:
    """Without index and name an unknown id starts no call."""
    response = streamed(call(id="1", name="a", arguments='{"n":'), call(id="z", arguments="1}"))
    assert response.message.tool_calls == (A,)


def test_a_call_cut_at_the_output_limit_is_malformed() -> None:
    """Its arguments could be half of what the model meant."""
    response = streamed(call(index=0, id="1", name="a", arguments='{"n": "ab'), finish="length")
    assert response.finish == "length"
    assert response.message.tool_calls[0].malformed == '{"n": "ab'


def test_text_over_the_limit_is_cut_and_says_so() -> None:
    """All that is done with an answer is bounded by its length."""
    response = whole({"content": "a" * MAX_TEXT + "b", "reasoning": "c" * 2 * MAX_TEXT})
    assert response.message.content == "a" * MAX_TEXT
    assert response.message.reasoning == "c" * MAX_TEXT
    assert response.finish == "length"


def test_usage_alone_in_the_last_chunk_counts() -> None:
    """A chunk without choices carries it, and [DONE] ends the answer."""
    answer = OpenAIAnswer("groq", "m")
    assert not answer.feed(b'{"choices":[{"delta":{"content":"a"}}]}')
    assert not answer.finished
    assert not answer.feed(b'{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":null}}')
    assert answer.feed(b"[DONE]")
    assert answer.finished
    assert answer.build_response("req").usage == Usage(prompt=3)
    assert answer.build_response("req").request_id == "req"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'"text"', b'{"choices":5}', b'{"choices":[{"finish_reason":"error"}]}'],
)
def test_what_is_no_completion_is_refused(data: bytes) -> None:
    """The endpoint turns it into a retryable failure."""
    with pytest.raises(ValueError, match=r".+"):
        OpenAIAnswer("groq", "m").feed(data)


def test_too_much_that_came_with_an_answer_is_dropped_with_a_note() -> None:
    """Half a signature would be refused."""
    response = whole({"content": "hi", "opaque": "x" * MAX_EXTRAS})
    assert response.message.extras is None
    (lost,) = response.degraded
    assert (lost.kind, lost.subject) == ("history", "reasoning")
    assert "bytes" in lost.what


def test_what_came_with_an_answer_and_its_calls_is_kept() -> None:
    """Fields that have a place of their own are not."""
    call = {"id": "1", "function": {"name": "a", "arguments": "{}"}, "extra_content": {"g": "s"}}
    response = whole(
        {
            "role": "assistant",
            "content": None,
            "annotations": [],
            "opaque": "x",
            "tool_calls": [call],
        }
    )
    assert response.message.extras == Extras(origin="", fields={"opaque": "x"})
    assert response.message.tool_calls[0].extras == {"extra_content": {"g": "s"}}
    assert whole({"content": "hi"}).message.extras is None
