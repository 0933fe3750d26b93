"""Responses that are read again: as they were given, and what they were asked with."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from itertools import count

import orjson

from orchestrator.http_api.error_response import ApiProblem, invalid
from orchestrator.http_api.parsed_request import ParsedRequest, ResponsesFields
from orchestrator.http_api.response_formatters import ResponsesFormatter, problem_of
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import api_requests
from orchestrator.journal.turns.api_requests import Request
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
MOST = 100  # items of one list
ORDERS = ("asc", "desc")


def find(db: Database, name: str) -> Request:
    """Return the request of a response by the response's id.

    Raises:
        ApiProblem: it is unknown, was sent with ``store: false``, or was deleted.
    """
    found = api_requests.of_id(db, name.removeprefix(PREFIX))
    if found is None or not found.body.store:
        raise ApiProblem(
            HTTPStatus.NOT_FOUND,
            f'there is no stored response {name!r}; it was deleted, or sent with "store": false',
            code="response_not_found",
        )
    return found


def document(found: Request) -> JsonObject:
    """Return a response as it was given, or how far it is."""
    body = found.body
    fields = ResponsesFields(
        model=found.agent_id,
        temperature=body.asked.temperature,
        tools=[_tool(tool) for tool in body.tools],
        tool_choice=_choice(body.tool_choice),
        parallel_tool_calls=not body.asked.one_call,
        user=found.user or None,
        metadata=body.metadata,
        instructions="\n\n".join(body.asked.instructions) or None,
        max_output_tokens=body.asked.max_output_tokens,
        text=_format(body.asked.output_schema),
    )
    parsed = ParsedRequest(fields, body, found.previous_id, found.conversation)
    formatter = ResponsesFormatter(found.id, found.received_at // 1000, parsed)
    if found.outcome is None:
        return formatter.pending()
    problem = problem_of(found.outcome)
    return formatter.document(found.outcome) if problem is None else formatter.failed(problem)


def input_items(found: Request, query: dict[str, str]) -> JsonObject:
    """Return a part of what a response was asked with; ``query`` has limit, after and order.

    Raises:
        ApiProblem: one of them is wrong.
    """
    return page_of([item for group in asked_items(found) for item in group], query)


def asked_items(found: Request) -> list[list[JsonObject]]:
    """Return the items of each message that a response was asked with."""
    numbers = count()
    return [
        [{**item, "id": f"item_{found.id}_{next(numbers)}"} for item in items_of(message)]
        for message in found.body.messages
    ]


def page_of(items: Sequence[JsonObject], query: dict[str, str]) -> JsonObject:
    """Return a part of a list of items, the oldest first; ``query`` has limit, after and order.

    Raises:
        ApiProblem: one of them is wrong.
    """
    order, limit = query.get("order", "desc"), query.get("limit", "20")
    if order not in ORDERS:
        raise invalid("order", "order must be asc or desc")
    if not (limit.isascii() and limit.isdigit() and 0 < int(limit) <= MOST):
        raise invalid("limit", f"limit must be a number from 1 to {MOST}")
    if order == "desc":
        items = items[::-1]
    ids = [item["id"] for item in items]
    after = query.get("after")
    if after is not None and after not in ids:
        raise invalid("after", f"there is no item {after!r}")
    begin = 0 if after is None else ids.index(after) + 1
    shown = items[begin : begin + int(limit)]
    return {
        "object": "list",
        "data": [*shown],
        "has_more": begin + len(shown) < len(items),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }


def items_of(message: Message) -> Iterator[JsonObject]:
    """Yield the items that a message is for clients, without ids."""
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
        yield _message("user", parts)
    else:
        yield from _answer(message)


def _answer(message: AssistantMessage) -> Iterator[JsonObject]:
    if message.content:
        text: JsonObject = {"type": "output_text", "text": message.content, "annotations": []}
        yield _message("assistant", [text])
    for call in message.tool_calls:
        arguments = call.malformed or orjson.dumps(call.arguments).decode()
        made: JsonObject = {"call_id": call.id, "name": call.name, "arguments": arguments}
        yield {"type": "function_call", **made, "status": "completed"}


def _message(role: str, parts: list[JsonObject]) -> JsonObject:
    return {"type": "message", "role": role, "status": "completed", "content": [*parts]}


def _tool(tool: ToolSpec) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    }


def _choice(choice: ToolChoice) -> str | JsonObject:
    return {"type": "function", "name": choice.name} if choice.name else choice.mode


def _format(schema: JsonObject | None) -> JsonObject | None:
    if schema is None:
        return None
    named: JsonObject = {"type": "json_schema", "name": "answer", "schema": schema}
    return {"format": named}
