"""Parse the bodies of the three endpoints into one form."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Literal, TypeVar

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, ValidationError

from orchestrator.extensions.http_api.anthropic_items import (
    build_function_choice,
    build_function_tools,
    build_message_items,
    parse_system_text,
)
from orchestrator.extensions.http_api.api_conversations import join_split_answers
from orchestrator.extensions.http_api.chat_items import build_chat_items
from orchestrator.extensions.http_api.request_bodies import make_validation_problem
from orchestrator.extensions.http_api.responses_request import ResponsesRequest, translate_request
from orchestrator.extensions.http_api.stored_requests import Body
from orchestrator.extensions.http_api.unsupported_requests import (
    CHAT_FIELDS,
    RESPONSES_FIELDS,
    leave_out_hosted_tools,
    refuse_fields,
    refuse_tools,
)
from orchestrator.web.error_response import (
    ApiProblem,
    make_invalid_problem,
)
from thinker.protocol.messages import (
    AUTO,
    MAX_SCHEMA_OBJECTS,
    Effort,
    EffortLevel,
    JsonObject,
    ToolSpec,
    has_too_many_objects,
)
from thinker.protocol.methods import RequestOptions

EFFORTS: Mapping[str, EffortLevel] = {  # OpenAI's and Anthropic's words
    "none": "off",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
MAX_USER = 256  # characters
MAX_TOOLS = 128  # OpenAI's limit
ELSEWHERE = ("container", "mcp_servers", "compaction")  # fields for features that run at Anthropic
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider takes
ITEM = re.compile(r"input\[(\d+)\]")
Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.:@/-]+$")]


class RequestFields(BaseModel):
    """The fields of all endpoints; unknown ones are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: Name
    stream: StrictBool | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    tools: JsonValue = None
    tool_choice: JsonValue = None
    parallel_tool_calls: StrictBool | None = None
    user: str | None = Field(None, max_length=MAX_USER)
    metadata: JsonObject | None = None


class StreamOptions(BaseModel):
    """Whether a stream ends with the usage of its answer."""

    include_usage: bool = False


class ChatFields(RequestFields):
    """The body of ``POST /v1/chat/completions``."""

    messages: list[JsonObject] = Field(min_length=1)
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    reasoning_effort: str | None = None
    response_format: JsonObject | None = None
    n: Literal[1] | None = None
    logprobs: Literal[False] | None = None


class RequestConversation(BaseModel):
    """A conversation by its id."""

    id: Name


class ResponsesFields(RequestFields):
    """The body of ``POST /v1/responses``."""

    instructions: str | None = None
    input: str | list[JsonValue] | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    reasoning: JsonObject | None = None
    text: JsonObject | None = None
    store: StrictBool | None = None
    previous_response_id: Name | None = None
    conversation: Name | RequestConversation | None = None
    background: Literal[False] | None = None


class MessagesFields(RequestFields):
    """The body of ``POST /v1/messages``, in Anthropic's format."""

    messages: list[JsonObject] = Field(min_length=1)
    max_tokens: int = Field(ge=1)
    system: JsonValue = None
    output_config: JsonObject | None = None
    thinking: JsonObject | None = None


@dataclass(frozen=True)
class ParsedRequest:
    """The fields of a request as the client sent them, and its translation for the agent."""

    fields: ChatFields | ResponsesFields | MessagesFields
    body: Body
    previous_id: str | None = None
    conversation: str | None = None


FieldsT = TypeVar("FieldsT", bound=RequestFields)


def parse_chat(body: JsonObject) -> ParsedRequest:
    """Parse a request for a chat completion, which includes the whole history.

    Raises:
        ApiProblem: the body does not follow the format.
    """
    refuse_fields(body, CHAT_FIELDS)
    refuse_tools(body)
    modalities = body.get("modalities")
    if isinstance(modalities, list) and modalities not in ([], ["text"]):
        raise make_invalid_problem(
            "modalities", 'modalities is not supported; an agent answers in ["text"]'
        )
    fields = _validate_fields(ChatFields, body)
    items, origins = build_chat_items(fields.messages)
    tools: JsonObject = {key: body[key] for key in ("tools", "tool_choice") if key in body}
    request = _translate_messages({**tools, "input": items}, origins)
    response_format = fields.response_format or {}
    inner = response_format.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else None
    schema = _parse_output_schema("response_format", response_format.get("type"), schema)
    limit = fields.max_completion_tokens or fields.max_tokens
    return ParsedRequest(fields, _build_request_body(request, fields, schema, limit, store=False))


def parse_messages(body: JsonObject) -> ParsedRequest:
    """Parse a request in Anthropic's format, which includes the whole history.

    Raises:
        ApiProblem: the body does not follow the format, or asks for something no agent can do.
    """
    for name in ELSEWHERE:
        if body.get(name):
            raise make_invalid_problem(name, f"{name} is not supported; the agent has its own")
    if body.get("thread"):
        raise ApiProblem(
            HTTPStatus.BAD_REQUEST,
            "thread is not supported; send the whole conversation with each request",
            # With these, Anthropic's clients retry by themselves.
            details={"error_code": "thread_unsupported_request", "unsupported": ["thread"]},
        )
    user = _get_object(body.get("metadata")).get("user_id")
    fields = _validate_fields(MessagesFields, {**body, "user": user})
    items, origins = build_message_items(fields.messages)
    asked: JsonObject = {
        "input": items,
        "instructions": parse_system_text(fields.system),
        "tools": build_function_tools(fields.tools),
        "tool_choice": build_function_choice(fields.tool_choice),
    }
    request = _translate_messages(asked, origins)
    output = _get_object((fields.output_config or {}).get("format"))
    schema = _parse_output_schema("output_config.format", output.get("type"), output.get("schema"))
    one = _get_object(fields.tool_choice).get("disable_parallel_tool_use") is True
    fields = fields.model_copy(update={"parallel_tool_calls": not one})
    return ParsedRequest(
        fields, _build_request_body(request, fields, schema, fields.max_tokens, store=False)
    )


def parse_responses(body: JsonObject) -> ParsedRequest:
    """Parse a request for a response, which may continue an earlier one.

    Raises:
        ApiProblem: the body does not follow the format.
    """
    refuse_fields(body, RESPONSES_FIELDS)
    body = leave_out_hosted_tools(body)
    fields = _validate_fields(ResponsesFields, body)
    conversation, previous = fields.conversation, fields.previous_response_id
    if conversation is not None and previous is not None:
        raise make_invalid_problem(
            "conversation", "send either conversation or previous_response_id"
        )
    request = translate_request(body)
    text_format = (fields.text or {}).get("format")
    text_format = text_format if isinstance(text_format, dict) else {}
    schema = _parse_output_schema("text.format", text_format.get("type"), text_format.get("schema"))
    store = fields.store is not False
    return ParsedRequest(
        fields,
        _build_request_body(request, fields, schema, fields.max_output_tokens, store=store),
        previous and previous.removeprefix("resp_"),
        conversation.id if isinstance(conversation, RequestConversation) else conversation,
    )


def _translate_messages(asked: JsonObject, origins: Sequence[int]) -> ResponsesRequest:
    """Translate a request whose client sends messages, not items."""
    try:
        return translate_request(asked)
    except ApiProblem as problem:
        param = ITEM.sub(lambda item: f"messages[{origins[int(item[1])]}]", problem.param or "")
        raise make_invalid_problem(param, str(problem)) from None


def _get_object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _validate_fields(model: type[FieldsT], body: JsonObject) -> FieldsT:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise make_validation_problem(error, body) from None


def _build_request_body(
    request: ResponsesRequest,
    fields: RequestFields,
    schema: JsonObject | None,
    max_tokens: int | None,
    *,
    store: bool,
) -> Body:
    if not request.messages:
        raise make_invalid_problem(
            "input", "send at least one message of a user or result of a tool"
        )
    if len(request.tools) > MAX_TOOLS:
        raise make_invalid_problem("tools", f"send at most {MAX_TOOLS} tools")
    return Body(
        messages=tuple(join_split_answers(request.messages)),
        tools=tuple(map(_build_client_tool, request.tools)),
        tool_choice=request.tool_choice or AUTO if request.tools else AUTO,
        asked=RequestOptions(
            instructions=request.instructions,
            output_schema=schema,
            temperature=fields.temperature,
            max_output_tokens=max_tokens,
            effort=_read_effort(fields),
            one_call=fields.parallel_tool_calls is False,
        ),
        stream=bool(fields.stream),
        store=store,
        metadata=(fields.metadata or {}) if store else {},
    )


def _read_effort(fields: RequestFields) -> Effort | None:
    """Return the effort of a request, in any of the three formats; None leaves it to the agent."""
    word: JsonValue = None
    if isinstance(fields, ChatFields):
        param, word = "reasoning_effort", fields.reasoning_effort
    elif isinstance(fields, ResponsesFields):
        param, word = "reasoning.effort", _get_object(fields.reasoning).get("effort")
    elif isinstance(fields, MessagesFields):
        thinking = _get_object(fields.thinking)
        if thinking.get("type") == "disabled":
            return "off"
        if isinstance(budget := thinking.get("budget_tokens"), int):
            return max(0, budget)
        param, word = "output_config.effort", _get_object(fields.output_config).get("effort")
    else:
        return None
    if word is None:
        return None
    if not isinstance(word, str) or word not in EFFORTS:
        problem = f"unknown effort {word!r}; use one of {', '.join(EFFORTS)}"
        raise make_invalid_problem(param, problem)
    return EFFORTS[word]


def _build_client_tool(tool: ToolSpec) -> ToolSpec:
    if not TOOL_NAME.fullmatch(tool.name):
        raise make_invalid_problem(
            "tools",
            f"the tool name {tool.name!r} is not allowed; use at most 64 letters, digits,"
            " underscores and hyphens",
        )
    parameters: JsonObject = tool.parameters or {"type": "object", "properties": {}}
    update = {"parameters": parameters, "handed_back": True, "always": True}
    return tool.model_copy(update=update)


def _parse_output_schema(param: str, kind: JsonValue, schema: JsonValue) -> JsonObject | None:
    """Return the schema of the answer; None if any text will do."""
    if kind in (None, "text"):
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema" or not isinstance(schema, dict):
        raise make_invalid_problem(
            param, f"{param} must be text, json_object, or json_schema with its schema"
        )
    if schema.get("type", "object") != "object":
        raise make_invalid_problem(
            param, "the schema must describe an object; put other types into a field of it"
        )
    if has_too_many_objects(schema, MAX_SCHEMA_OBJECTS):
        raise make_invalid_problem(
            param, f"the schema has more than {MAX_SCHEMA_OBJECTS} objects; simplify it"
        )
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        reason = error.message if isinstance(error, SchemaError) else "it is nested too deeply"
        raise make_invalid_problem(param, f"the schema cannot be used: {reason}"[:500]) from None
    return schema
