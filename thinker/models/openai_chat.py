"""OpenAI's chat completions, which nearly all providers and any ``baseUrl`` speak."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import orjson

from thinker.models import came_with
from thinker.models.base import ModelRequest
from thinker.models.call_arguments import MAX_NAME, adapt_name
from thinker.models.endpoint import ProviderModel
from thinker.models.failures import Account
from thinker.models.openai_answer import OpenAIAnswer
from thinker.models.outputschema import Closing
from thinker.models.quirks import build_effort, merge_fields
from thinker.models.request_form import RequestForm
from thinker.models.role_order import join_roles, separate_tool_results
from thinker.protocol import messages
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import Provider, RequestRules

FROM_TOOLS = "(Pictures that the tools above returned.)"
CLOSING = Closing(optional=False)
NO_TEXT: Mapping[str, JsonObject] = {
    "null": {"content": None},
    "empty": {"content": ""},
    "absent": {},
}
CACHED: JsonObject = {"cache_control": {"type": "ephemeral"}}
MARKED = 2  # newest user messages after which a cached prompt may end


class OpenAIChat(ProviderModel):
    """One model at ``{base_url}/chat/completions``."""

    _collector = OpenAIAnswer

    def _build_body(self, request: ModelRequest, form: RequestForm) -> JsonObject:
        return build_request_body(self._account, request, form)


def build_request_body(
    account: Account, request: ModelRequest, form: RequestForm | None = None
) -> JsonObject:
    """Build the body of a chat completion, without null or unneeded fields.

    Fields that stay the same from call to call come first, so that a provider's prompt cache can
    match the longest prefix.
    """
    rules, form = account.rules, form or RequestForm(least=account.rules.schema_rank)
    request = form.apply(request)
    body: JsonObject = {"model": account.model}
    if request.cache_key and rules.cache_key:
        body["prompt_cache_key"] = request.cache_key
    if request.tools:
        body["tools"] = [_build_tool(tool) for tool in request.tools]
    body["messages"] = [*_build_messages(account, request, form)]
    if request.tools:
        body |= _build_tool_choice(request.tool_choice, rules)
    merge_fields(body, rules.adds)
    merge_fields(body, _build_reasoning(rules, request.reasoning))
    if request.output is not None:
        body["response_format"] = _build_response_format(request.output, account.provider)
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        body[rules.length_field] = request.max_output_tokens
    if request.on_text is not None:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    else:
        merge_fields(body, rules.adds_whole)
    return {name: value for name, value in body.items() if name not in rules.omits}


def _build_tool_choice(choice: messages.ToolChoice, rules: RequestRules) -> JsonObject:
    """Return the field for a choice; ``auto`` is what all servers do without one."""
    mode = rules.tool_choice.get(choice.mode, choice.mode)
    if mode == "function":
        return {"tool_choice": {"type": "function", "function": {"name": choice.name}}}
    return {} if mode in ("", "auto") else {"tool_choice": mode}


def _build_reasoning(rules: RequestRules, reasoning: messages.Reasoning | None) -> JsonObject:
    """Return the fields that ask for an effort; in an object the reasoning may be excluded."""
    fields = build_effort(rules, reasoning).fields
    amount = fields.get("reasoning")
    if reasoning is None or not isinstance(amount, dict) or amount.get("enabled") is False:
        return fields
    return {**fields, "reasoning": {**amount, "exclude": not reasoning.is_recorded}}


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


def _build_messages(account: Account, request: ModelRequest, form: RequestForm) -> list[JsonObject]:
    rules = account.rules
    system: JsonObject = {"role": "system", "content": request.system}
    wire = [system] if request.system else []
    include = request.reasoning is not None and request.reasoning.include
    scope = "always" if include else rules.send_back
    came = came_with.list_returned(request.messages, account.origin, scope)
    found: list[messages.Image] = []  # in tool results, which cannot hold pictures in this format
    for message, fields in zip(request.messages, came, strict=True):
        if not isinstance(message, messages.ToolResult):
            wire += _build_picture_messages(found)
            found = []
        else:
            found += message.images
        if isinstance(message, messages.AssistantMessage):
            told = include and message.reasoning and not fields
            own: JsonObject | None = {"reasoning_content": message.reasoning} if told else fields
            wire.append(_build_answer(message, own, account, form))
        else:
            wire.append(_build_message(message, rules))
    wire += _build_picture_messages(found)
    if rules.note_after_tool:
        wire = separate_tool_results(wire)
    if form.joined or rules.joined:
        wire = join_roles(wire)
    return _mark_cached(wire) if rules.cache_marks and form.marks else wire


def _build_picture_messages(found: Sequence[messages.Image]) -> list[JsonObject]:
    return (
        [_build_user_message(messages.UserMessage(content=FROM_TOOLS, images=tuple(found)))]
        if found
        else []
    )


def _build_message(
    message: messages.UserMessage | messages.ToolResult, rules: RequestRules
) -> JsonObject:
    if isinstance(message, messages.UserMessage):
        return _build_user_message(message)
    call_id = _adapt_call_id(message.call_id, rules)
    named: JsonObject = {"name": message.name} if rules.names_results else {}
    return {"role": "tool", **named, "tool_call_id": call_id, "content": message.text}


def _build_answer(
    message: messages.AssistantMessage,
    came: JsonObject | None,
    account: Account,
    form: RequestForm,
) -> JsonObject:
    """Return an earlier answer; ``came`` are the fields that go back with it, None if none may."""
    rules, content, calls = account.rules, message.content, message.tool_calls
    fields: JsonObject = came if came and form.extras else {}
    if came is not None and (
        came or rules.back_fill or rules.think_tags or form.filler is not None
    ):
        if rules.think_tags and message.reasoning and (came or not message.extras):
            fields = {name: value for name, value in fields.items() if name not in came_with.PLAIN}
            content = _add_thoughts(message.reasoning, content)
        filler = {} if form.filler is None else {"reasoning_content": form.filler}
        usual = rules.back_fill if form.extras else {}
        fields = {**usual, **filler, **{k: v for k, v in fields.items() if v != ""}}
    wire: JsonObject = {"role": "assistant"}
    if content or not calls:
        wire["content"] = content
    else:
        wire |= NO_TEXT[form.blank or rules.content_when_calls]
    if calls:
        origin = account.origin if form.extras else ""
        extras = came_with.find_call_extras(message, origin, rules.call_extra)
        wire["tool_calls"] = [
            _build_call(call, rules, extra) for call, extra in zip(calls, extras, strict=True)
        ]
    return {**wire, **fields} if fields else wire


def _add_thoughts(reasoning: str, content: str) -> str:
    """Return the text with its reasoning before it, as the model wrote both."""
    return content if "<think>" in content else f"<think>\n{reasoning}\n</think>\n\n{content}"


def _mark_cached(wire: list[JsonObject]) -> list[JsonObject]:
    """Mark the system prompt and the newest messages of the user as ends of cached prompts."""
    users = [number for number, message in enumerate(wire) if message["role"] == "user"]
    marked = {0, *users[-MARKED:]}
    return [_mark_message(one) if at in marked else one for at, one in enumerate(wire)]


def _mark_message(message: JsonObject) -> JsonObject:
    content = message.get("content")
    if isinstance(content, str) and content:
        return {**message, "content": [{"type": "text", "text": content, **CACHED}]}
    if isinstance(content, list) and content and isinstance(content[-1], dict):
        return {**message, "content": [*content[:-1], {**content[-1], **CACHED}]}
    return message


def _build_user_message(message: messages.UserMessage) -> JsonObject:
    if not message.images:
        return {"role": "user", "content": message.text}
    text: list[JsonObject] = [{"type": "text", "text": message.text}] if message.text else []
    return {"role": "user", "content": [*text, *map(_build_image_part, message.images)]}


def _build_image_part(image: messages.Image) -> JsonObject:
    url = f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _build_call(call: messages.ToolCall, rules: RequestRules, extra: JsonObject) -> JsonObject:
    # A malformed call is sent as {}: many servers parse the arguments in the history.
    arguments = orjson.dumps(call.arguments).decode()
    function: JsonObject = {"name": adapt_name(call.name), "arguments": arguments}
    call_id = _adapt_call_id(call.id, rules)
    return {"id": call_id, "type": "function", "function": function, **extra}


def _adapt_call_id(call_id: str, rules: RequestRules) -> str:
    """Return the id in the provider's form: equal ids stay equal, others stay different."""
    length = rules.call_id_length
    if not length:
        return call_id if len(call_id) <= MAX_NAME else sha256(call_id.encode()).hexdigest()
    if len(call_id) == length and call_id.isascii() and call_id.isalnum():
        return call_id
    return sha256(call_id.encode()).hexdigest()[:length]


def _build_tool(tool: messages.ToolSpec) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description or tool.name}
    function["parameters"] = tool.parameters
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}
