"""Responses that are read again."""

from typing import Any

import pytest

from orchestrator.extensions.http_api.stored_requests import Body, Outcome, Request
from orchestrator.extensions.http_api.stored_responses import (
    build_stored_document,
    list_input_items,
)
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    ToolCall,
    ToolResult,
    UserMessage,
)
from thinker.protocol.methods import RequestOptions, StopReason

PICTURE = Image(media_type="image/png", data="AAAA")
ASKED = (
    UserMessage(content="look", images=(PICTURE,)),
    AssistantMessage(content="I look.", tool_calls=(ToolCall(id="c", name="look"),)),
    ToolResult(call_id="c", name="look", content="blue"),
)


def stored(outcome: Outcome | None = None, **fields: Any) -> Request:
    """A request that was asked with `ASKED`."""
    body = Body(messages=ASKED, store=True, **fields)
    return Request("1", None, "office", body, outcome, "work", "t", "api/x", "ann", 5_000)


def test_response_says_how_far_it_is() -> None:
    """Nothing yet, an answer, or why there is no answer."""
    waits: Any = build_stored_document(stored())
    assert (waits["status"], waits["output"], waits["created_at"]) == ("in_progress", [], 5)
    assert (waits["conversation"], waits["user"]) == ({"id": "office"}, "ann")
    given: Any = build_stored_document(stored(Outcome(text="blue", stop_reason=StopReason.DONE)))
    assert (given["status"], given["output"][0]["content"][0]["text"]) == ("completed", "blue")
    lost = Outcome(text="no model", stop_reason=StopReason.MODEL_ERROR, error="no model")
    failed: Any = build_stored_document(stored(lost))
    assert (failed["status"], failed["error"]) == (
        "failed",
        {"code": "model_error", "message": "no model"},
    )


def test_response_names_what_was_asked_of_it() -> None:
    """The form of the answer and its length are as the client sent them."""
    asked = RequestOptions(output_schema={"type": "object"}, max_output_tokens=9, one_call=True)
    found: Any = build_stored_document(stored(asked=asked))
    assert found["text"]["format"]["schema"] == {"type": "object"}
    assert (found["max_output_tokens"], found["parallel_tool_calls"]) == (9, False)


def test_what_it_was_asked_with_is_listed_part_by_part() -> None:
    """The newest first unless it is asked otherwise; a list says whether more follows."""
    whole: Any = list_input_items(stored(), {"order": "asc"})
    kinds = ["message", "message", "function_call", "function_call_output"]
    assert [item["type"] for item in whole["data"]] == kinds
    assert [part["type"] for part in whole["data"][0]["content"]] == ["input_text", "input_image"]
    first: Any = list_input_items(stored(), {"limit": "3"})
    assert [item["type"] for item in first["data"]] == kinds[:0:-1]
    assert first["has_more"] is True
    rest: Any = list_input_items(stored(), {"after": first["last_id"]})
    assert ([item["role"] for item in rest["data"]], rest["has_more"]) == (["user"], False)
    nothing: Any = list_input_items(stored(), {"after": rest["last_id"]})
    assert (nothing["data"], nothing["first_id"]) == ([], None)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "²"}, "limit"),
        ({"order": "up"}, "order"),
        ({"after": "x"}, "after"),
    ],
)
def test_wrong_part_of_a_list_is_refused(query: dict[str, str], param: str) -> None:
    """By the name of what is wrong."""
    with pytest.raises(ApiProblem) as refused:
        list_input_items(stored(), query)
    assert refused.value.param == param
