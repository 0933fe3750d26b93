"""Anthropic's Messages API, with prompt-cache breakpoints."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from orchestrator.extensions.anthropic.worker.anthropic_answer import AnthropicAnswer
from thinker.models import came_with
from thinker.models.base import ModelRequest
from thinker.models.call_arguments import adapt_name, make_ids_unique
from thinker.models.endpoint import ProviderModel
from thinker.models.failures import Account
from thinker.models.outputschema import Closing
from thinker.models.quirks import build_effort, merge_fields
from thinker.models.request_form import RequestForm, declare_called_tools
from thinker.models.role_order import GO_ON
from thinker.protocol import messages
from thinker.protocol.messages import JsonObject

MAX_TOKENS = 8192  # the API requires a limit; all current models accept this one
EARLIER = "(The conversation began before this message.)"
MIN_THINKING = 1024  # tokens; the API's minimum
TOOL_CHOICE = {"auto": "auto", "none": "none", "required": "any", "function": "tool"}
CACHED: JsonObject = {"cache_control": {"type": "ephemeral"}}
CLOSING = Closing(optional=True)  # the API refuses schemas with open objects


class AnthropicMessages(ProviderModel):
    """One model at ``{base_url}/v1/messages``."""

    _collector = AnthropicAnswer

    def _build_body(self, request: ModelRequest, form: RequestForm) -> JsonObject:
        return build_request_body(self._account, request, form)


def build_request_body(
    account: Account, request: ModelRequest, form: RequestForm | None = None
) -> JsonObject:
    """Build the body of a Messages request.

    Anthropic allows four cache breakpoints: they go after the tools, after the system prompt, and
    after the last two user messages. The newest one is where the next call's prompt continues; the
    one before is where the last call's prompt ended, however long the answer was. Fields that
    change from call to call come after the messages.
    """
    form = form or RequestForm()
    request = declare_called_tools(form.apply(request))
    mark = CACHED if form.marks else {}
    limit = request.max_output_tokens or MAX_TOKENS
    body: JsonObject = {"model": account.model, "max_tokens": limit}
    tools = _build_tools(request)
    if tools:
        tools[-1] |= mark
        body["tools"] = [*tools]
    if request.system.strip():
        body["system"] = [_build_text_block(request.system) | mark]
    origin = account.origin if form.extras else ""
    body["messages"] = [*_build_messages(request.messages, origin, mark)]
    choice = request.tool_choice
    if tools and choice.mode != "auto":
        named: JsonObject = {"name": choice.name} if choice.name else {}
        body["tool_choice"] = {"type": TOOL_CHOICE[choice.mode], **named}
    _add_thinking(body, request, account, origin)
    if request.temperature is not None and "thinking" not in body:  # thinking excludes it
        body["temperature"] = min(request.temperature, 1.0)  # the API's range ends at 1
    schema = None if request.output is None else CLOSING.close_schema(request.output)
    if schema is not None:
        format_: JsonObject = {"format": {"type": "json_schema", "schema": schema}}
        merge_fields(body, {"output_config": format_})
    if request.on_text is not None:
        body["stream"] = True
    return {name: value for name, value in body.items() if name not in account.rules.omits}


def _build_tools(request: ModelRequest) -> list[JsonObject]:
    return [
        {
            "name": tool.name,
            "description": tool.description or tool.name,
            "input_schema": tool.parameters,
        }
        for tool in request.tools
    ]


def _add_thinking(body: JsonObject, request: ModelRequest, account: Account, origin: str) -> None:
    """Ask for thinking, unless the API would refuse it.

    Thinking within a turn needs the signed thoughts of the turn's earlier calls, which another
    model does not make. It also excludes a required tool call.
    """
    fields = build_effort(account.rules, request.reasoning).fields
    thinking = fields.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    on = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    if on and request.tool_choice.requires_call:
        return
    if on and not _may_think(request.messages, origin, signed=budget is not None):
        return
    if isinstance(budget, int):
        budget = max(MIN_THINKING, budget)
        fields = {"thinking": {"type": "enabled", "budget_tokens": budget}}
        body["max_tokens"] = budget + (request.max_output_tokens or MAX_TOKENS)
    merge_fields(body, fields)


def _may_think(conversation: Sequence[messages.Message], origin: str, *, signed: bool) -> bool:
    """Return whether the newest message begins a turn, or this model made the turn's last calls.

    With a budget the API also requires that these calls came with ``signed`` thoughts.
    """
    if not conversation or not isinstance(conversation[-1], messages.ToolResult):
        return True
    called = next(one for one in reversed(conversation) if not _is_result(one))
    if not isinstance(called, messages.AssistantMessage) or called.extras is None:
        return False
    blocks = called.extras.fields.get("blocks")
    thought = isinstance(blocks, list) and any(blocks)
    return called.extras.origin == origin and (thought or not signed)


def _is_result(message: messages.Message) -> bool:
    return isinstance(message, messages.ToolResult)


def _build_messages(
    conversation: tuple[messages.Message, ...], origin: str, mark: JsonObject
) -> list[JsonObject]:
    """Return alternating messages, the user's first, with neighbors of one role joined."""
    turns: list[tuple[str, list[JsonObject]]] = []
    used_ids: set[str] = set()
    ids: dict[str, str] = {}
    came = came_with.list_returned(conversation, origin, "calls")
    for message, fields in zip(conversation, came, strict=True):
        if isinstance(message, messages.AssistantMessage):
            ids = _map_wire_ids(message, used_ids)
            used_ids.update(ids.values())
        role = "assistant" if isinstance(message, messages.AssistantMessage) else "user"
        blocks = _build_blocks(message, ids)
        if fields and isinstance(fields.get("blocks"), list):
            blocks = _insert_thoughts(blocks, fields["blocks"])
        if not turns and role == "assistant":
            turns.append(("user", [_build_text_block(EARLIER)]))
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    if turns and turns[-1][0] == "assistant":  # newer models take no beginning of an answer
        turns.append(("user", [_build_text_block(GO_ON)]))
    for blocks in [blocks for role, blocks in turns if role == "user" and blocks][-2:]:
        blocks[-1] |= mark
    return [{"role": role, "content": [*blocks]} for role, blocks in turns]


def _insert_thoughts(blocks: list[JsonObject], places: JsonValue) -> list[JsonObject]:
    """Return the blocks of an answer with its signed thoughts where they were.

    ``places`` has the thoughts, and null for each other block. If the answer has been changed
    since, the thoughts come first.
    """
    thoughts = (
        [place for place in places if isinstance(place, dict)] if (isinstance(places, list)) else []
    )
    if not isinstance(places, list) or len(places) - len(thoughts) != len(blocks):
        return [*thoughts, *blocks]
    rest = iter(blocks)
    return [place if isinstance(place, dict) else next(rest) for place in places]


def _map_wire_ids(message: messages.AssistantMessage, used: set[str]) -> dict[str, str]:
    """Map call ids, which another provider may have chosen, to ids that the API accepts.

    The API requires a pattern, and unique ids in the whole conversation.
    """
    ids = [call.id for call in message.tool_calls]
    fitting = (adapt_name(call_id) if call_id else "" for call_id in ids)
    return dict(zip(ids, make_ids_unique(fitting, used), strict=True))


def _build_blocks(message: messages.Message, ids: Mapping[str, str]) -> list[JsonObject]:
    """Return a message's content blocks, without blank text, which the API refuses."""
    if isinstance(message, messages.ToolResult):
        return [_build_result_block(message, ids)]
    text = message.text if isinstance(message, messages.UserMessage) else message.content
    blocks = [_build_text_block(text)] if text.strip() else []
    if isinstance(message, messages.UserMessage):
        return blocks + [_build_image_block(image) for image in message.images]
    return blocks + [
        {
            "type": "tool_use",
            "id": ids[call.id],
            "name": adapt_name(call.name),
            "input": call.arguments,
        }
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
