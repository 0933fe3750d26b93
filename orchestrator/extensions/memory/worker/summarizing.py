"""Conversations as text, templates and a model call, for compaction and fact extraction."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from thinker import budget
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError
from thinker.models.base import Model, ModelRequest
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import AssistantMessage, Message, UserMessage
from thinker.toolcalls.markup import remove_markup

ANSWER_TOKENS = 4096  # of a summary or list of facts, with the thoughts before it
MESSAGE_LIMIT = 8000  # characters of one message in the request
PLACEHOLDER = re.compile(r"\{\{([A-Z_]+)\}\}")
log = structlog.get_logger()


def format_conversation(messages: Sequence[Message]) -> str:
    """Return the messages of people and the agent, one paragraph each."""
    return "\n\n".join(
        f"{'User' if isinstance(message, UserMessage) else 'Assistant'}:"
        f" {cut_text(message.content)}"
        for message in messages
        if isinstance(message, UserMessage | AssistantMessage) and message.content.strip()
    )


def cut_text(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Return the text, cut after ``limit`` characters."""
    text = text.strip()
    return text if len(text) <= limit else f"{text[:limit]} […]"


def load_template(path: Path | None, fallback: str) -> str:
    """Return the template in a file, or ``fallback`` if the file is unusable.

    A template needs ``{{CONVERSATION}}``.
    """
    if path is None:
        return fallback
    try:
        text = regular_file.read_text(path, regular_file.BASE_PROMPT)
    except FileError as error:
        log.warning("template_unreadable", problem=f"{path}: {error}; the built-in text is used")
        return fallback
    if "{{CONVERSATION}}" not in text:
        problem = f"{path}: {{{{CONVERSATION}}}} is missing; the built-in text is used"
        log.warning("template_unusable", problem=problem)
        return fallback
    return text


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Replace a template's placeholders; placeholders inside values are left alone."""
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text).strip()


async def call_model(model: Model, prompt: str, *said: Message) -> tuple[str, MeteredResult]:
    """Return the answer to one user message, without system prompt or tools, and its usage.

    ``said`` are the messages after it, up to the one that is answered now.

    Raises:
        ModelError: the model did not answer.
    """
    messages = (UserMessage(content=prompt), *said)
    request = ModelRequest(
        system="", messages=messages, temperature=0.0, max_output_tokens=ANSWER_TOKENS
    )
    response = await model.complete(request)
    text = remove_markup(response.message.content)
    usage = budget.resolve_usage(response.usage, lambda: (request.characters, len(text)))
    return text, MeteredResult(
        model=response.model or model.name,
        usage=usage,
        call_ids=response.call_ids,
        problem="" if response.finish == "done" else f"the answer ended as {response.finish}",
    )
