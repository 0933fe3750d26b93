"""Bodies of requests, made into ours: what both endpoints ask, in one form."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, ValidationError

from orchestrator.http_api.error_response import invalid
from orchestrator.http_api.responses_items import RequestError
from orchestrator.http_api.responses_request import ResponsesRequest, normalise
from orchestrator.journal.turns.api_requests import Body
from thinker.protocol.messages import AUTO, AssistantMessage, JsonObject, Message, ToolSpec
from thinker.protocol.methods import RequestOptions

MAX_TOOLS = 128  # as with OpenAI
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider takes
ITEM = re.compile(r"input\[(\d+)\]")
Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.:@/-]+$")]
ChatParts = {"text": "input_text", "image_url": "input_image"}


class Fields(BaseModel):
    """What both endpoints share; what we do not know is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: Name
    stream: StrictBool | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    tools: JsonValue = None
    tool_choice: JsonValue = None
    parallel_tool_calls: StrictBool | None = None
    user: str | None = Field(None, max_length=256)
    metadata: JsonObject | None = None


class StreamOptions(BaseModel):
    """Whether a stream ends with what the answer used."""

    include_usage: bool = False


class ChatFields(Fields):
    """``POST /v1/chat/completions``."""

    messages: list[JsonObject] = Field(min_length=1)
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    response_format: JsonObject | None = None
    n: Literal[1] | None = None
    logprobs: Literal[False] | None = None


class RequestConversation(BaseModel):
    """A conversation by its id."""

    id: Name


class ResponsesFields(Fields):
    """``POST /v1/responses``."""

    instructions: str | None = None
    input: str | list[JsonValue] | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    text: JsonObject | None = None
    store: StrictBool | None = None
    previous_response_id: Name | None = None
    conversation: Name | RequestConversation | None = None
    background: Literal[False] | None = None


@dataclass(frozen=True)
class ParsedRequest:
    """A request as it was asked: its fields and what they mean to us."""

    fields: ChatFields | ResponsesFields
    body: Body
    previous_id: str | None = None
    conversation: str | None = None


F = TypeVar("F", bound=Fields)


def read_chat(body: JsonObject) -> ParsedRequest:
    """A request for a chat completion, which brings its whole history.

    Raises:
        Problem: it is not in the format.
    """
    fields = _validated(ChatFields, body)
    items, origins = _items(fields.messages)
    request = _normalised({**_tools(body), "input": items}, origins)
    form = fields.response_format or {}
    inner = form.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else None
    asked = RequestOptions(
        instructions=request.instructions,
        output_schema=_schema("response_format", form.get("type"), schema),
        temperature=fields.temperature,
        max_output_tokens=fields.max_completion_tokens or fields.max_tokens,
        one_call=fields.parallel_tool_calls is False,
    )
    return ParsedRequest(fields, _body(request, asked, stream=bool(fields.stream), store=False))


def read_responses(body: JsonObject) -> ParsedRequest:
    """A request for a response, which may go on from an earlier one.

    Raises:
        Problem: it is not in the format.
    """
    fields = _validated(ResponsesFields, body)
    conversation, previous = fields.conversation, fields.previous_response_id
    if conversation is not None and previous is not None:
        raise invalid("conversation", "send either conversation or previous_response_id")
    request = _normalised(body, None)
    form = (fields.text or {}).get("format")
    form = form if isinstance(form, dict) else {}
    asked = RequestOptions(
        instructions=request.instructions,
        output_schema=_schema("text.format", form.get("type"), form.get("schema")),
        temperature=fields.temperature,
        max_output_tokens=fields.max_output_tokens,
        one_call=fields.parallel_tool_calls is False,
    )
    store = fields.store is not False
    return ParsedRequest(
        fields,
        _body(request, asked, stream=bool(fields.stream), store=store),
        previous and previous.removeprefix("resp_"),
        conversation.id if isinstance(conversation, RequestConversation) else conversation,
    )


def _validated(kind: type[F], body: JsonObject) -> F:
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        param = ".".join(map(str, detail["loc"]))
        raise invalid(param, f"{param}: {detail['msg']}") from None


def _normalised(body: JsonObject, origins: Sequence[int] | None) -> ResponsesRequest:
    """The request in our shapes; ``origins`` are the messages that its items were made from."""
    try:
        return normalise(body)
    except RequestError as error:
        if origins is None:
            raise invalid(error.param, str(error)) from None
        param = ITEM.sub(lambda match: f"messages[{origins[int(match[1])]}]", error.param)
        raise invalid(param, str(error)) from None


def _body(request: ResponsesRequest, asked: RequestOptions, *, stream: bool, store: bool) -> Body:
    if not request.messages:
        raise invalid("input", "say something: there is no message of a user or result of a tool")
    if len(request.tools) > MAX_TOOLS:
        raise invalid("tools", f"at most {MAX_TOOLS} tools")
    return Body(
        messages=tuple(_joined(request.messages)),
        tools=tuple(map(_tool, request.tools)),
        tool_choice=request.tool_choice or AUTO if request.tools else AUTO,
        asked=asked,
        stream=stream,
        store=store,
    )


def _tool(tool: ToolSpec) -> ToolSpec:
    if not TOOL_NAME.fullmatch(tool.name):
        told = "the name of a tool has at most 64 letters, digits, underscores and hyphens"
        raise invalid("tools", f"{told}; {tool.name!r} has others")
    parameters: JsonObject = tool.parameters or {"type": "object", "properties": {}}
    update = {"parameters": parameters, "handed_back": True, "always": True}
    return tool.model_copy(update=update)


def _schema(param: str, kind: JsonValue, schema: JsonValue) -> JsonObject | None:
    """The schema of the answer; None when it may be any text."""
    if kind in (None, "text"):
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema" or not isinstance(schema, dict):
        raise invalid(param, f"{param} must be text, json_object, or json_schema with its schema")
    if schema.get("type", "object") != "object":
        raise invalid(param, "the schema of an answer describes an object; put others in a field")
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        told = error.message if isinstance(error, SchemaError) else "it is nested too deep"
        raise invalid(param, f"the schema cannot be used: {told}"[:500]) from None
    return schema


def _joined(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages; an answer and its calls, which come as items of their own, are one again."""
    last: AssistantMessage | None = None
    for message in messages:
        if not isinstance(message, AssistantMessage):
            if last is not None:
                yield last
            last = None
            yield message
        elif last is None:
            last = message
        else:
            text = "\n".join(filter(None, (last.content, message.content)))
            calls = (*last.tool_calls, *message.tool_calls)
            last = AssistantMessage(content=text, tool_calls=calls)
    if last is not None:
        yield last


# --- chat completions as items of a response ---------------------------------------------------


def _tools(body: JsonObject) -> JsonObject:
    return {key: body[key] for key in ("tools", "tool_choice") if key in body}


def _items(messages: Sequence[JsonObject]) -> tuple[list[JsonValue], list[int]]:
    """Chat messages as input items, and the number of the message that each was made from."""
    items: list[JsonValue] = []
    origins: list[int] = []
    for number, message in enumerate(messages):
        made = list(_of_message(message, number))
        items += made
        origins += [number] * len(made)
    return items, origins


def _of_message(message: JsonObject, number: int) -> Iterator[JsonObject]:
    role = str(message.get("role")).strip().lower()
    content = _content(message.get("content"))
    if role == "tool":
        text = content if isinstance(content, str | None) else _text(content)
        call_id = message.get("tool_call_id")
        yield {"type": "function_call_output", "call_id": call_id, "output": text}
        return
    calls = message.get("tool_calls") or []
    if content or not calls:
        yield {"type": "message", "role": role, "content": content}
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise invalid(f"messages[{number}].tool_calls", "tool_calls must be an array of objects")
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(function, dict):
            named = {key: function.get(key) for key in ("name", "arguments")}
            yield {"type": "function_call", "call_id": call.get("id"), **named}


def _content(content: JsonValue) -> JsonValue:
    """Parts of a chat message by the names that they have in a response."""
    if not isinstance(content, list):
        return content
    return [
        {**part, "type": ChatParts.get(str(part.get("type")), part.get("type"))}
        if isinstance(part, dict)
        else part
        for part in content
    ]


def _text(parts: JsonValue) -> str:
    if not isinstance(parts, list):
        return orjson.dumps(parts).decode()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
