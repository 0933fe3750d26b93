"""Responses that are read again, with their inputs."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from itertools import count

import orjson

from orchestrator.extensions.http_api import stored_requests
from orchestrator.extensions.http_api.parsed_request import ParsedRequest, ResponsesFields
from orchestrator.extensions.http_api.response_formatters import (
    ResponsesFormatter,
    find_outcome_problem,
)
from orchestrator.extensions.http_api.stored_requests import Request
from orchestrator.journal.db.database import Database
from orchestrator.web.error_response import ApiProblem, make_invalid_problem
from thinker.protocol.messages import (
    AssistantMessage,
    JsonObject,
    Message,
    ToolChoice,
    ToolResult,
    ToolSpec,
    UserMessage,
)

PREFIX = "resp_"
MAX_ITEMS = 100  # of one list
ORDERS = ("asc", "desc")


def load_response(db: Database, response_id: str) -> Request:
    """Return the stored request behind a response.

    Raises:
        ApiProblem: the response is unknown, was deleted, or was sent with ``store: false``.
    """
    found = stored_requests.find_request(db, response_id.removeprefix(PREFIX))
    if found is None or not found.body.store:
        raise ApiProblem(
            HTTPStatus.NOT_FOUND,
            f'unknown response {response_id!r}; it was deleted, or sent with "store": false',
            code="response_not_found",
        )
    return found


def build_stored_document(found: Request) -> JsonObject:
    """Build a response as it was given, or its progress."""
    body = found.body
    fields = ResponsesFields(
        model=found.agent_id,
        temperature=body.asked.temperature,
        tools=[_build_tool(tool) for tool in body.tools],
        tool_choice=_format_tool_choice(body.tool_choice),
        parallel_tool_calls=not body.asked.one_call,
        user=found.user or None,
        metadata=body.metadata,
        instructions="\n\n".join(body.asked.instructions) or None,
        max_output_tokens=body.asked.max_output_tokens,
        text=_build_text_format(body.asked.output_schema),
    )
    parsed = ParsedRequest(fields, body, found.previous_id, found.conversation)
    formatter = ResponsesFormatter(found.id, found.received_at // 1000, parsed)
    if found.outcome is None:
        return formatter.build_pending_document()
    problem = find_outcome_problem(found.outcome)
    return (
        formatter.build_document(found.outcome)
        if problem is None
        else formatter.build_failed_document(problem)
    )


def list_input_items(found: Request, query: dict[str, str]) -> JsonObject:
    """List a part of a response's input items; ``query`` has limit, after and order.

    Raises:
        ApiProblem: one of them is wrong.
    """
    return build_item_page([item for group in list_asked_items(found) for item in group], query)


def list_asked_items(found: Request) -> list[list[JsonObject]]:
    """Return the items of each input message of a response."""
    numbers = count()
    return [
        [{**item, "id": f"item_{found.id}_{next(numbers)}"} for item in list_message_items(message)]
        for message in found.body.messages
    ]


def build_item_page(items: Sequence[JsonObject], query: dict[str, str]) -> JsonObject:
    """Build a page of items, oldest first; ``query`` has limit, after and order.

    Raises:
        ApiProblem: one of them is wrong.
    """
    order, limit = query.get("order", "desc"), query.get("limit", "20")
    if order not in ORDERS:
        raise make_invalid_problem("order", "order must be asc or desc")
    if not (limit.isascii() and limit.isdigit() and 0 < int(limit) <= MAX_ITEMS):
        raise make_invalid_problem("limit", f"limit must be a number from 1 to {MAX_ITEMS}")
    if order == "desc":
        items = items[::-1]
    ids = [item["id"] for item in items]
    after = query.get("after")
    if after is not None and after not in ids:
        raise make_invalid_problem("after", f"unknown item {after!r}")
    begin = 0 if after is None else ids.index(after) + 1
    shown = items[begin : begin + int(limit)]
    return {
        "object": "list",
        "data": [*shown],
        "has_more": begin + len(shown) < len(items),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }


def list_message_items(message: Message) -> Iterator[JsonObject]:
    """Yield the items of a message for clients, without ids."""
    if isinstance(message, ToolResult):
        call: JsonObject = {"call_id": message.call_id, "output": message.content}
        yield {"type": "function_call_output", **call, "status": "completed"}
    elif isinstance(message, UserMessage):
        parts: list[JsonObject] = []
        if message.content:
            parts.append({"type": "input_text", "text": message.content})
        for image in message.images:
            url = f"data:{image.media_type};base64,{image.data}"
            parts.append({"type": "input_image", "image_url": url, "detail": "auto"})
        yield _build_message_item("user", parts)
    else:
        yield from _list_answer_items(message)


def _list_answer_items(message: AssistantMessage) -> Iterator[JsonObject]:
    if message.content:
        text: JsonObject = {"type": "output_text", "text": message.content, "annotations": []}
        yield _build_message_item("assistant", [text])
    for call in message.tool_calls:
        arguments = call.malformed or orjson.dumps(call.arguments).decode()
        made: JsonObject = {"call_id": call.id, "name": call.name, "arguments": arguments}
        yield {"type": "function_call", **made, "status": "completed"}


def _build_message_item(role: str, parts: list[JsonObject]) -> JsonObject:
    return {"type": "message", "role": role, "status": "completed", "content": [*parts]}


def _build_tool(tool: ToolSpec) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    }


def _format_tool_choice(choice: ToolChoice) -> str | JsonObject:
    return {"type": "function", "name": choice.name} if choice.name else choice.mode


def _build_text_format(schema: JsonObject | None) -> JsonObject | None:
    if schema is None:
        return None
    named: JsonObject = {"type": "json_schema", "name": "answer", "schema": schema}
    return {"format": named}
