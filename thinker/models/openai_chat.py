"""OpenAI's chat completions: groq, openai, openrouter, ollama, lmstudio and any ``baseUrl``."""

from collections.abc import Sequence

import orjson

from thinker.models.base import ModelRequest
from thinker.models.endpoint import ProviderModel
from thinker.models.failures import Account
from thinker.models.openai_answer import OpenAIAnswer
from thinker.models.outputschema import Closing
from thinker.protocol import messages
from thinker.protocol.messages import JsonObject

FROM_TOOLS = "(Pictures that the tools above returned.)"
CLOSING = Closing(optional=False)


class OpenAIChat(ProviderModel):
    """One model at ``{base_url}/chat/completions``."""

    _collector = OpenAIAnswer

    def _body(self, request: ModelRequest) -> JsonObject:
        return request_body(self._account, request)


def request_body(account: Account, request: ModelRequest) -> JsonObject:
    """Build the body of a chat completion, without null or unneeded fields.

    Fields that stay the same from call to call come first, so that a provider's prompt cache can
    match the longest prefix.
    """
    body: JsonObject = {"model": account.model}
    if request.cache_key and account.provider.cache_key:
        body["prompt_cache_key"] = request.cache_key
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body["messages"] = [*_messages(request)]
    if request.tools:
        forced: JsonObject = {"type": "function", "function": {"name": request.tool_choice.name}}
        mode = request.tool_choice.mode
        body["tool_choice"] = forced if mode == "function" else mode
    body |= _reasoning(account.provider.name, request.reasoning)
    if request.output is not None:
        body["response_format"] = _output(request.output)
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        # OpenAI's reasoning models reject the old name; most compatible servers only know that one.
        new_name = account.provider.name == "openai"
        body["max_completion_tokens" if new_name else "max_tokens"] = request.max_output_tokens
    if request.on_text is not None:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def _reasoning(provider: str, reasoning: messages.Reasoning | None) -> JsonObject:
    """Return OpenRouter's ``reasoning`` object; for others ``reasoning_effort``, if any."""
    if reasoning is None:
        return {}
    if provider != "openrouter":
        return {} if reasoning.effort is None else {"reasoning_effort": reasoning.effort}
    amount: JsonObject = {} if reasoning.effort is None else {"effort": reasoning.effort}
    if reasoning.max_tokens is not None:
        amount = {"max_tokens": reasoning.max_tokens}
    return {"reasoning": {**amount, "exclude": not reasoning.recorded}} if amount else {}


def _output(schema: JsonObject) -> JsonObject:
    """Return a strict schema if every field is named and required; otherwise ``schema``."""
    closed = CLOSING.closed(schema)
    strict = closed is not None
    answer: JsonObject = {"name": "answer", "schema": closed or schema, "strict": strict}
    return {"type": "json_schema", "json_schema": answer}


def _messages(request: ModelRequest) -> list[JsonObject]:
    system: JsonObject = {"role": "system", "content": request.system}
    wire = [system] if request.system else []
    reasoning = request.reasoning is not None and request.reasoning.include
    found: list[messages.Image] = []  # in tool results, which cannot hold pictures in this format
    for message in request.messages:
        if not isinstance(message, messages.ToolResult):
            wire += _pictures(found)
            found = []
        else:
            found += message.images
        wire.append(_message(message, reasoning=reasoning))
    return wire + _pictures(found)


def _pictures(found: Sequence[messages.Image]) -> list[JsonObject]:
    return [_user(messages.UserMessage(content=FROM_TOOLS, images=tuple(found)))] if found else []


def _message(message: messages.Message, *, reasoning: bool) -> JsonObject:
    if isinstance(message, messages.UserMessage):
        return _user(message)
    if isinstance(message, messages.ToolResult):
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    wire: JsonObject = {"role": "assistant"}
    if message.content or not message.tool_calls:
        wire["content"] = message.content
    if message.tool_calls:
        wire["tool_calls"] = [_call(call) for call in message.tool_calls]
    if reasoning and message.reasoning:
        wire["reasoning_content"] = message.reasoning
    return wire


def _user(message: messages.UserMessage) -> JsonObject:
    if not message.images:
        return {"role": "user", "content": message.text}
    text: list[JsonObject] = [{"type": "text", "text": message.text}] if message.text else []
    return {"role": "user", "content": [*text, *map(_image, message.images)]}


def _image(image: messages.Image) -> JsonObject:
    url = f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _call(call: messages.ToolCall) -> JsonObject:
    # A malformed call is sent as {}: many servers parse the arguments in the history.
    arguments = orjson.dumps(call.arguments).decode()
    function: JsonObject = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _tool(tool: messages.ToolSpec) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description}
    function["parameters"] = tool.parameters
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}
