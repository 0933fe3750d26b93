"""The layout ``agently_messages``: system, developer, conversation, and one user message.

With strict role orders, adjacent messages of one role are merged. The conversation begins with the
user (``[CHAT HISTORY]``) and ends with the assistant (``[User continue input]``), so that roles
alternate up to the user message that follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from pydantic import JsonValue

from orchestrator.extensions.agently import blocks
from orchestrator.extensions.agently.blocks import LayoutStyle
from thinker.formats.prompts.slots import CONTENT, ChatMessage, MessageContent, TextMessageContent
from thinker.prompt.render.sections import ContentParts, Conversation, Section, Structured
from thinker.protocol.messages import JsonObject

CONTINUE = "[User continue input]"


@dataclass(frozen=True)
class MessagePrompt:
    """Messages of the chat completions API, and a warning for each part left out."""

    messages: tuple[JsonObject, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _RoleParts:
    """The content parts of one or more messages of a role."""

    role: str
    parts: list[JsonValue]


def render_agently_messages(
    sections: Sequence[Section],
    style: LayoutStyle | None = None,
    *,
    rich_content: bool = False,
    strict_role_orders: bool = True,
) -> MessagePrompt:
    """Return the sections as messages.

    Without ``rich_content`` only text is sent, with a warning for each other part.

    Raises:
        EmptyPromptError: the prompt has no request.
    """
    style = style or LayoutStyle()
    sections = blocks.join_attached(sections)
    blocks.require_request(sections)
    messages: list[JsonObject] = [
        {
            "role": style.map_own_role(role),
            "content": "\n\n".join(map(blocks.format_section_body, group)),
        }
        for role, group in groupby(filter(blocks.is_shown, sections), lambda section: section.role)
        if role != "user"
    ]
    warnings: list[str] = []
    for section in sections:
        if isinstance(section.body, Conversation):
            conversation = [_build_role_parts(message, style) for message in section.body.messages]
            if strict_role_orders:
                conversation = _enforce_role_order(conversation, style, style.find_title(section))
            for item in conversation:
                content, skipped = (item.parts, []) if rich_content else _flatten_parts(item.parts)
                messages.append({"role": item.role, "content": content})
                warnings += skipped
    last, skipped = _build_user_messages(sections, style, rich_content=rich_content)
    return MessagePrompt((*messages, *last), (*warnings, *skipped))


def _build_role_parts(message: ChatMessage, style: LayoutStyle) -> _RoleParts:
    if isinstance(message.content, str):
        parts: list[JsonValue] = [{"type": "text", "text": message.content}]
    else:
        parts = [CONTENT.validate_python(item).model_dump() for item in message.content]
    return _RoleParts(style.map_role(message.role), parts)


def _enforce_role_order(
    conversation: list[_RoleParts], style: LayoutStyle, title: str
) -> list[_RoleParts]:
    user, assistant = ("user", "assistant")
    if style.compat is None:  # upstream compares mapped roles with its own names
        user, assistant = style.map_own_role(user), style.map_own_role(assistant)
    ordered = [
        _RoleParts(role, [part for item in group for part in item.parts])
        for role, group in groupby(conversation, lambda item: item.role)
    ]
    if ordered[0].role != user:
        ordered.insert(0, _RoleParts(user, [{"type": "text", "text": f"[{title}]"}]))
    if ordered[-1].role != assistant:
        ordered.append(_RoleParts(assistant, [{"type": "text", "text": CONTINUE}]))
    return ordered


def _flatten_parts(parts: Sequence[JsonValue]) -> tuple[str, list[str]]:
    """Return the text parts, separated by empty lines, and a warning for each other part."""
    texts, warnings = [], []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, dict) and kind == "text":
            texts.append(str(part["text"]))
        else:
            warnings.append(f"a part of type {kind!r} cannot be sent as text; left out")
    return "\n\n".join(texts), warnings


def _build_user_messages(
    sections: Sequence[Section], style: LayoutStyle, *, rich_content: bool
) -> tuple[list[JsonObject], list[str]]:
    """Return the user's messages: only the input, only attachments, or the main block."""
    role = style.map_own_role("user")
    parts = [p for s in sections if isinstance(s.body, ContentParts) for p in s.body.items]
    main = [
        s for s in sections if not isinstance(s.body, ContentParts) and _is_in_main_block(s, style)
    ]
    if len(main) == 1 and main[0].id == "input" and not parts:
        only = main[0].body
        # Upstream sends a mapping, which providers refuse.
        bare = (
            only.value
            if style.compat and isinstance(only, Structured)
            else blocks.format_section_body(main[0])
        )
        return [{"role": role, "content": bare}], []
    if rich_content:
        content: list[JsonValue] = [part.model_dump() for part in parts]
        if main or not parts:
            content.insert(0, {"type": "text", "text": blocks.format_main_block(sections, style)})
        return [{"role": role, "content": content}], []
    messages, warnings = _build_text_messages(parts, role)
    if main or not parts:
        messages.append({"role": role, "content": blocks.format_main_block(sections, style)})
    return messages, warnings


def _is_in_main_block(section: Section, style: LayoutStyle) -> bool:
    """Return whether a section is part of the main block; upstream ignores examples here."""
    ignored = {"examples"} if style.compat else set()
    return blocks.is_main(section) and section.id not in ignored and blocks.is_shown(section)


def _build_text_messages(
    parts: Sequence[MessageContent], role: str
) -> tuple[list[JsonObject], list[str]]:
    messages: list[JsonObject] = []
    warnings = []
    for part in parts:
        if isinstance(part, TextMessageContent):
            messages.append({"role": role, "content": part.text})
        else:
            warnings.append(f"an attachment of type {part.type!r} cannot be sent as text; left out")
    return messages, warnings
