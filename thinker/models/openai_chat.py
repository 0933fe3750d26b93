"""OpenAI's chat completions, which nearly all providers and any ``baseUrl`` speak."""

from collections.abc import Sequence
from hashlib import sha256

import orjson
from pydantic import JsonValue

from thinker.models.base import ModelRequest
from thinker.models.endpoint import ProviderModel
from thinker.models.failures import Account
from thinker.models.openai_answer import OpenAIAnswer
from thinker.models.outputschema import NAMED, Closing
from thinker.protocol import messages
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import Provider, RequestRules

FROM_TOOLS = "(Pictures that the tools above returned.)"
CLOSING = Closing(optional=False)
COMBINED = frozenset({"anyOf", "oneOf", "allOf", "items", "prefixItems"})  # lists of schemas


class OpenAIChat(ProviderModel):
    """One model at ``{base_url}/chat/completions``."""

    _collector = OpenAIAnswer

    def _build_body(self, request: ModelRequest) -> JsonObject:
        return build_request_body(self._account, request)


def build_request_body(account: Account, request: ModelRequest) -> JsonObject:
    """Build the body of a chat completion, without null or unneeded fields.

    Fields that stay the same from call to call come first, so that a provider's prompt cache can
    match the longest prefix.
    """
    rules = account.provider.requests
    body: JsonObject = {"model": account.model}
    if request.cache_key and rules.cache_key:
        body["prompt_cache_key"] = request.cache_key
    if request.tools:
        body["tools"] = [_build_tool(tool, rules) for tool in request.tools]
    body["messages"] = [*_build_messages(request, rules)]
    if request.tools:
        body |= _build_tool_choice(request.tool_choice, rules)
    body |= _build_reasoning(rules, request.reasoning)
    if request.output is not None:
        body["response_format"] = _build_response_format(request.output, account.provider)
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        body[rules.length_field] = request.max_output_tokens
    if request.on_text is not None:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return {name: value for name, value in body.items() if name not in rules.omits}


def _build_tool_choice(choice: messages.ToolChoice, rules: RequestRules) -> JsonObject:
    mode = rules.tool_choice.get(choice.mode, choice.mode)
    if mode == "function":
        return {"tool_choice": {"type": "function", "function": {"name": choice.name}}}
    return {"tool_choice": mode} if mode else {}


def _build_reasoning(rules: RequestRules, reasoning: messages.Reasoning | None) -> JsonObject:
    """Return OpenRouter's ``reasoning`` object; for others ``reasoning_effort``, if any."""
    if reasoning is None:
        return {}
    if rules.reasoning != "object":
        return {} if reasoning.effort is None else {"reasoning_effort": reasoning.effort}
    amount: JsonObject = {} if reasoning.effort is None else {"effort": reasoning.effort}
    if reasoning.max_tokens is not None:
        amount = {"max_tokens": reasoning.max_tokens}
    return {"reasoning": {**amount, "exclude": not reasoning.is_recorded}} if amount else {}


def _build_response_format(schema: JsonObject, provider: Provider) -> JsonObject:
    """Return a strict schema if every field is named and required; otherwise ``schema``.

    For a provider without schemas, return the format of any JSON object: the prompt describes it.
    """
    if "schema" not in provider.can and "json" in provider.can:
        return {"type": "json_object"}
    closed = CLOSING.close_schema(schema)
    strict = closed is not None
    answer: JsonObject = {"name": "answer", "schema": closed or schema, "strict": strict}
    return {"type": "json_schema", "json_schema": answer}


def _build_messages(request: ModelRequest, rules: RequestRules) -> list[JsonObject]:
    system: JsonObject = {"role": "system", "content": request.system}
    wire = [system] if request.system else []
    reasoning = request.reasoning is not None and request.reasoning.include
    found: list[messages.Image] = []  # in tool results, which cannot hold pictures in this format
    for message in request.messages:
        if not isinstance(message, messages.ToolResult):
            wire += _build_picture_messages(found)
            found = []
        else:
            found += message.images
        wire.append(_build_message(message, rules, reasoning=reasoning))
    return wire + _build_picture_messages(found)


def _build_picture_messages(found: Sequence[messages.Image]) -> list[JsonObject]:
    return (
        [_build_user_message(messages.UserMessage(content=FROM_TOOLS, images=tuple(found)))]
        if found
        else []
    )


def _build_message(
    message: messages.Message, rules: RequestRules, *, reasoning: bool
) -> JsonObject:
    if isinstance(message, messages.UserMessage):
        return _build_user_message(message)
    if isinstance(message, messages.ToolResult):
        call_id = _adapt_call_id(message.call_id, rules)
        return {"role": "tool", "tool_call_id": call_id, "content": message.text}
    wire: JsonObject = {"role": "assistant"}
    if message.content or not message.tool_calls:
        wire["content"] = message.content
    if message.tool_calls:
        wire["tool_calls"] = [_build_call(call, rules) for call in message.tool_calls]
    if reasoning and message.reasoning:
        wire["reasoning_content"] = message.reasoning
    return wire


def _build_user_message(message: messages.UserMessage) -> JsonObject:
    if not message.images:
        return {"role": "user", "content": message.text}
    text: list[JsonObject] = [{"type": "text", "text": message.text}] if message.text else []
    return {"role": "user", "content": [*text, *map(_build_image_part, message.images)]}


def _build_image_part(image: messages.Image) -> JsonObject:
    url = f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _build_call(call: messages.ToolCall, rules: RequestRules) -> JsonObject:
    # A malformed call is sent as {}: many servers parse the arguments in the history.
    arguments = orjson.dumps(call.arguments).decode()
    function: JsonObject = {"name": call.name, "arguments": arguments}
    call_id = _adapt_call_id(call.id, rules)
    return {"id": call_id, "type": "function", "function": function, **rules.call_extra}


def _adapt_call_id(call_id: str, rules: RequestRules) -> str:
    """Return the id in the provider's form: equal ids stay equal, others stay different."""
    length = rules.call_id_length
    if not length or (len(call_id) == length and call_id.isascii() and call_id.isalnum()):
        return call_id
    return sha256(call_id.encode()).hexdigest()[:length]


def _build_tool(tool: messages.ToolSpec, rules: RequestRules) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description}
    function["parameters"] = _remove_keywords(tool.parameters, rules.schema_omits)
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _remove_keywords(schema: JsonObject, keywords: Sequence[str]) -> JsonObject:
    """Return a schema without these keywords, which may still be names of properties."""
    if not keywords:
        return schema
    return {
        key: _remove_inner_keywords(key, value, keywords)
        for key, value in schema.items()
        if key not in keywords
    }


def _remove_inner_keywords(key: str, value: JsonValue, keywords: Sequence[str]) -> JsonValue:
    if isinstance(value, dict):
        if key in NAMED:
            return {
                name: _remove_inner_keywords("", schema, keywords) for name, schema in value.items()
            }
        return _remove_keywords(value, keywords)
    if isinstance(value, list) and key in COMBINED:
        return [_remove_inner_keywords("", schema, keywords) for schema in value]
    return value
