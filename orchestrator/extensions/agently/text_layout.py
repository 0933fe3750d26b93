"""The layout ``agently_text``: one text of titled blocks that includes the conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.extensions.agently import blocks
from orchestrator.extensions.agently.blocks import LayoutStyle
from thinker.formats.prompts.slots import CONTENT, ChatMessage, TextMessageContent
from thinker.prompt.render.sections import Conversation, Section


@dataclass(frozen=True)
class TextPrompt:
    """The text, and a warning for each part of the conversation left out."""

    text: str
    warnings: tuple[str, ...] = ()


def render_agently_text(
    sections: Sequence[Section], style: LayoutStyle | None = None
) -> TextPrompt:
    """Return all sections as one text between the user's and the assistant's role.

    Attachments are left out, and so are other parts of the conversation than text, with a warning.

    Raises:
        EmptyPromptError: the prompt has no request.
    """
    style = style or LayoutStyle()
    sections = blocks.join_attached(sections)
    blocks.require_request(sections)
    lines = [f"{style.map_own_role('user')}:"]
    warnings: list[str] = []
    for section in sections:
        if isinstance(section.body, Conversation):
            lines.append(f"[{style.find_title(section)}]:")
            for message in section.body.messages:
                written, skipped = _format_message(message, style)
                lines += written
                warnings += skipped
            lines.append("")
        elif section.role != "user" and blocks.is_shown(section):
            lines += blocks.format_block(section, style)
    lines += [blocks.format_main_block(sections, style), f"{style.map_own_role('assistant')}:"]
    return TextPrompt("\n".join(lines), tuple(warnings))


def _format_message(message: ChatMessage, style: LayoutStyle) -> tuple[list[str], list[str]]:
    """Return the lines of a message, and a warning for each part that is not text."""
    role = style.map_role(message.role)
    if isinstance(message.content, str):
        return [f"[{role}]:{message.content}"], []
    lines, warnings = [], []
    for item in message.content:
        part = CONTENT.validate_python(item)
        if isinstance(part, TextMessageContent):
            lines.append(f"[{role}]:{part.text}")
        else:
            warnings.append(f"a part of type {part.type!r} cannot be shown in text; left out")
    return lines, warnings
