"""Anthropic's Messages API, with prompt-cache breakpoints."""

import re
from collections.abc import Mapping

from thinker.models.anthropic_answer import AnthropicAnswer
from thinker.models.base import ModelRequest
from thinker.models.call_arguments import make_ids_unique
from thinker.models.endpoint import ProviderModel
from thinker.models.outputschema import Closing
from thinker.protocol import messages
from thinker.protocol.messages import JsonObject

MAX_TOKENS = 8192  # the API requires a limit; all current models accept this one
EARLIER = "(The conversation began before this message.)"
MIN_THINKING = 1024  # tokens; the API's minimum
THINKING = {"low": 2048, "medium": 8192, "high": 16384}  # tokens; the API has no named levels
TOOL_CHOICE = {"auto": "auto", "none": "none", "required": "any", "function": "tool"}
CACHED: JsonObject = {"cache_control": {"type": "ephemeral"}}
CLOSING = Closing(optional=True)  # the API refuses schemas with open objects
FOREIGN_ID = re.compile(r"[^a-zA-Z0-9_-]")  # characters the API refuses in a tool_use id


class AnthropicMessages(ProviderModel):
    """One model at ``{base_url}/v1/messages``."""

    _collector = AnthropicAnswer

    def _build_body(self, request: ModelRequest) -> JsonObject:
        return build_request_body(self._account.model, request)


def build_request_body(model: str, request: ModelRequest) -> JsonObject:
    """Build the body of a Messages request.

    Anthropic allows four cache breakpoints: they go after the tools, after the system prompt, and
    after the last two user messages. The newest one is where the next call's prompt continues; the
    one before is where the last call's prompt ended, however long the answer was. Fields that
    change from call to call come after the messages.
    """
    body: JsonObject = {"model": model, "max_tokens": request.max_output_tokens or MAX_TOKENS}
    if request.tools:
        tools: list[JsonObject] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        tools[-1] |= CACHED
        body["tools"] = [*tools]
    if request.system.strip():
        body["system"] = [_build_text_block(request.system) | CACHED]
    body["messages"] = [*_build_messages(request.messages)]
    if request.tools:
        choice = request.tool_choice
        named: JsonObject = {"name": choice.name} if choice.name else {}
        body["tool_choice"] = {"type": TOOL_CHOICE[choice.mode], **named}
    thinking = _count_thinking_tokens(request)
    if thinking:
        body["thinking"] = {"type": "enabled", "budget_tokens": thinking}
        body["max_tokens"] = thinking + (request.max_output_tokens or MAX_TOKENS)
    elif request.temperature is not None:  # thinking excludes a temperature
        body["temperature"] = min(request.temperature, 1.0)  # the API's range ends at 1
    schema = None if request.output is None else CLOSING.close_schema(request.output)
    if schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if request.on_text is not None:
        body["stream"] = True
    return body


def _count_thinking_tokens(request: ModelRequest) -> int:
    """Return the number of thinking tokens; 0 where the API would refuse thinking.

    Thinking before a tool result needs the signed thoughts of the earlier call, which are not
    stored. It also excludes a required tool call.
    """
    reasoning = request.reasoning
    answers = bool(request.messages) and isinstance(request.messages[-1], messages.ToolResult)
    if reasoning is None or answers or request.tool_choice.requires_call:
        return 0
    if reasoning.max_tokens is not None:
        return max(MIN_THINKING, reasoning.max_tokens)
    return 0 if reasoning.effort is None else THINKING[reasoning.effort]


def _build_messages(conversation: tuple[messages.Message, ...]) -> list[JsonObject]:
    """Return alternating messages, the user's first, with neighbors of one role joined."""
    turns: list[tuple[str, list[JsonObject]]] = []
    used_ids: set[str] = set()
    ids: dict[str, str] = {}
    for message in conversation:
        if isinstance(message, messages.AssistantMessage):
            ids = _map_wire_ids(message, used_ids)
            used_ids.update(ids.values())
        role = "assistant" if isinstance(message, messages.AssistantMessage) else "user"
        blocks = _build_blocks(message, ids)
        if not turns and role == "assistant":
            turns.append(("user", [_build_text_block(EARLIER)]))
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    for blocks in [blocks for role, blocks in turns if role == "user" and blocks][-2:]:
        blocks[-1] |= CACHED
    return [{"role": role, "content": [*blocks]} for role, blocks in turns]


def _map_wire_ids(message: messages.AssistantMessage, used: set[str]) -> dict[str, str]:
    """Map call ids, which another provider may have chosen, to ids that the API accepts.

    The API requires a pattern, and unique ids in the whole conversation.
    """
    ids = [call.id for call in message.tool_calls]
    return dict(zip(ids, make_ids_unique((FOREIGN_ID.sub("_", i) for i in ids), used), strict=True))


def _build_blocks(message: messages.Message, ids: Mapping[str, str]) -> list[JsonObject]:
    """Return a message's content blocks, without blank text, which the API refuses."""
    if isinstance(message, messages.ToolResult):
        return [_build_result_block(message, ids)]
    text = message.text if isinstance(message, messages.UserMessage) else message.content
    blocks = [_build_text_block(text)] if text.strip() else []
    if isinstance(message, messages.UserMessage):
        return blocks + [_build_image_block(image) for image in message.images]
    return blocks + [
        {"type": "tool_use", "id": ids[call.id], "name": call.name, "input": call.arguments}
        for call in message.tool_calls
    ]


def _build_text_block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _build_image_block(image: messages.Image) -> JsonObject:
    source: JsonObject = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source}


def _build_result_block(result: messages.ToolResult, ids: Mapping[str, str]) -> JsonObject:
    text = [_build_text_block(result.text)] if result.text.strip() else []
    block: JsonObject = {
        "type": "tool_result",
        "tool_use_id": ids.get(result.call_id, result.call_id),
        "content": [*text, *map(_build_image_block, result.images)]
        if result.images
        else result.text,
    }
    if result.is_error:
        block["is_error"] = True
    return block
