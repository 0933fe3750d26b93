"""Answers in OpenAI's format, with the deviations of compatible servers."""

from typing import Any

import orjson
import pytest

from thinker.models.base import ModelResponse
from thinker.models.came_with import MAX_EXTRAS
from thinker.models.collector import MAX_TEXT, AnswerFailedError
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
        ({"content": "a"}, "MAX_TOKENS", "length"),
        ({"content": "a"}, "model_context_window_exceeded", "length"),
        ({"content": "a"}, "content_filter: PROHIBITED_CONTENT", "refused"),
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


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'"text"', b"[5]"])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    """The endpoint skips it, and fails if nothing else comes."""
    with pytest.raises(ValueError, match=r".+"):
        OpenAIAnswer("groq", "m").feed(data)


@pytest.mark.parametrize("reason", ["error", "network_error", "MALFORMED_FUNCTION_CALL"])
def test_an_end_that_is_a_failure_is_one(reason: str) -> None:
    """The endpoint asks again."""
    answer = OpenAIAnswer("groq", "m")
    with pytest.raises(AnswerFailedError, match=reason):
        answer.feed(orjson.dumps({"choices": [{"delta": {}, "finish_reason": reason}]}))


@pytest.mark.parametrize("data", [b'{"choices":5}', b'{"choices":null}', b'{"hello":"world"}'])
def test_a_chunk_without_a_choice_says_nothing(data: bytes) -> None:
    """Whatever stands in its place."""
    answer = OpenAIAnswer("groq", "m")
    assert not answer.feed(data)
    assert (answer.text, answer.finished) == ("", False)


@pytest.mark.parametrize(
    "parts",
    [
        [{"index": 0, "id": "x", "name": "a"}, {"index": 1, "id": "x", "name": "b"}],
        [{"index": 0, "name": "a"}, {"index": 0, "name": "b"}],
        [{"index": 0, "id": "", "name": "a"}, {"index": 0, "id": "", "name": "b"}],
        [{"id": "x", "name": "a"}, {"id": "y", "name": "b"}],
        [{"index": 0, "id": "x", "name": "a"}, {"index": 0, "id": "y", "name": "b"}],
    ],
)
def test_two_calls_are_two_however_they_are_numbered(parts: list[dict[str, Any]]) -> None:
    """A repeated id, index 0 for each with and without ids, no index."""
    deltas = [call(arguments='{"n":1}', **part) for part in parts]
    found = streamed(*deltas).message.tool_calls
    assert [(one.name, one.arguments) for one in found] == [("a", {"n": 1}), ("b", {"n": 1})]


def test_a_call_without_a_function_object_is_read() -> None:
    """Its name and arguments stand beside the id."""
    tool_call = {"id": "x", "name": "a", "arguments": {"n": 1}}
    (found,) = streamed({"tool_calls": [tool_call]}, finish="null").message.tool_calls
    assert (found.name, found.arguments) == ("a", {"n": 1})


def test_calls_of_one_index_are_told_apart_by_their_ids() -> None:
    """Pieces of both may alternate."""
    response = streamed(
        call(index=0, id="1", name="a", arguments='{"n"'),
        call(index=0, id="2", name="b", arguments='{"n":'),
        call(index=0, id="1", arguments=":1}"),
        call(index=0, id="2", arguments="2}"),
    )
    assert response.message.tool_calls == (A, B)


@pytest.mark.parametrize(
    "parts",
    [
        [{"arguments": '{"n"'}, {"name": "a", "arguments": ":1}"}],
        [{"name": "a", "arguments": '{"n"'}, {"name": "a", "arguments": ":1}"}],
        [{"name": "a", "arguments": "{}"}, {"arguments": '{"n":1}'}],
        [{"name": "a", "arguments": {}}, {"name": "", "arguments": {"n": 1}}],
        [{"name": "a", "arguments": '"{\\"n\\":1}"'}],
        [{"name": "functions.a:0", "arguments": '{"n":1}'}],
    ],
)
def test_names_and_arguments_come_in_any_order(parts: list[dict[str, Any]]) -> None:
    """The first name that is not empty counts, and what follows an empty object."""
    for index in (0, None, "0", 3.0):
        deltas = [{"tool_calls": [{"index": index, "function": part}]} for part in parts]
        (found,) = streamed(*deltas, finish="stop").message.tool_calls
        assert (found.name, found.arguments) == ("a", {"n": 1})


def test_the_old_form_of_a_call_is_read() -> None:
    """From before calls had ids."""
    response = whole({"content": None, "function_call": {"name": "a", "arguments": '{"n":1}'}})
    assert [(one.name, one.arguments) for one in response.message.tool_calls] == [("a", {"n": 1})]


def test_a_wrapper_of_several_calls_is_unfolded() -> None:
    """OpenAI's models leak the call of an inner tool."""
    uses = [{"recipient_name": f"functions.{name}", "parameters": {"n": 1}} for name in "ab"]
    response = streamed(
        call(index=0, id="x", name="multi_tool_use.parallel", arguments={"tool_uses": uses})
    )
    assert [(one.name, one.arguments) for one in response.message.tool_calls] == [
        ("a", {"n": 1}),
        ("b", {"n": 1}),
    ]


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": "hm", "reasoning": "hm"},
        {"reasoning_content": "", "reasoning": "hm"},
        {"reasoning_text": "hm"},
        {"reasoning_details": [{"text": "hm"}, {"data": "x"}]},
        {"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]},
    ],
)
def test_reasoning_is_read_once_from_any_field(message: dict[str, Any]) -> None:
    """Some servers send it twice."""
    answer = OpenAIAnswer("groq", "m")
    answer.feed(orjson.dumps({"choices": [{"delta": message, "finish_reason": "stop"}]}))
    assert answer.build_response("").message.reasoning == "hm"


def test_a_message_repeated_in_a_stream_counts_once() -> None:
    """Some servers send the whole answer so far with every chunk, or at the end."""
    answer = OpenAIAnswer("groq", "m")
    for content in ("a", "a b", "a b c"):
        choice = {"message": {"content": content}, "finish_reason": None}
        answer.feed(orjson.dumps({"object": "chat.completion.chunk", "choices": [choice]}))
        assert not answer.finished
    answer.feed(b"[DONE]")
    assert answer.build_response("").message.content == "a b c"


@pytest.mark.parametrize(
    ("fields", "usage"),
    [
        ({"usage": None, "x_groq": {"usage": {"prompt_tokens": 3}}}, Usage(prompt=3)),
        (
            {"timings": {"prompt_n": 2, "cache_n": 5, "predicted_n": 4}},
            Usage(prompt=7, completion=4, cached=5),
        ),
        (
            {"usage": {"prompt_tokens": "3", "completion_tokens": 2.0}},
            Usage(prompt=3, completion=2),
        ),
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 15}},
            Usage(prompt=9, completion=6),
        ),
        ({"usage": {"prompt_tokens": None, "prompt_tokens_details": None}}, Usage()),
        ({"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}}, Usage(prompt=9, cached=4)),
    ],
)
def test_usage_is_read_wherever_it_stands(fields: dict[str, Any], usage: Usage) -> None:
    """In the places and forms of each provider."""
    assert whole({"content": "a"}, **fields).usage == usage


def test_usage_in_a_choice_is_read() -> None:
    """Moonshot's place for it."""
    answer = OpenAIAnswer("moonshot", "m")
    choice = {"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 3}}
    answer.feed(orjson.dumps({"choices": [choice]}))
    assert answer.build_response("").usage == Usage(prompt=3)


def test_ollamas_own_format_is_read() -> None:
    """One line of JSON for each piece; the last has the counts."""
    answer = OpenAIAnswer("ollama", "m")
    function = {"name": "a", "arguments": {"n": 1}}
    for line in (
        {"message": {"role": "assistant", "content": "ha", "thinking": "hm"}, "done": False},
        {"message": {"content": "ha", "tool_calls": [{"function": function}]}, "done": False},
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 2},
    ):
        assert not answer.finished
        answer.feed(orjson.dumps(line))
    response = answer.build_response("")
    assert answer.finished
    assert (response.message.content, response.message.reasoning) == ("haha", "hm")
    assert response.message.tool_calls[0].arguments == {"n": 1}
    assert response.usage == Usage(completion=2)


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
