"""Conversations as text, templates and a model call, for compaction and fact extraction."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import structlog

from orchestrator.extensions.memory.memory_requests import SaidMessage
from thinker import budget
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError
from thinker.models.base import Model, ModelRequest
from thinker.prompt.layers import WEEKDAYS
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import AssistantMessage, Message, UserMessage
from thinker.toolcalls.markup import remove_markup

ANSWER_TOKENS = 4096  # of a summary or list of facts, with the thoughts before it
MESSAGE_LIMIT = 8000  # characters of one message in the request
PLACEHOLDER = re.compile(r"\{\{([A-Z_]+)\}\}")
log = structlog.get_logger()


def format_conversation(said: Sequence[SaidMessage], zone: ZoneInfo, *, numbered: bool) -> str:
    """Return the messages of people and the agent with their times, one paragraph each.

    ``numbered`` adds the ids by which an answer can name them.
    """
    return "\n\n".join(
        f"{format_head(one, zone, numbered=numbered)}: {cut_text(one.message.content)}"
        for one in said
        if isinstance(one.message, UserMessage | AssistantMessage) and one.message.content.strip()
    )


def format_head(said: SaidMessage, zone: ZoneInfo, *, numbered: bool = False) -> str:
    """Return the time and the author of a message: ``[m7, Monday 2026-10-05 23:30] User``."""
    at = datetime.fromtimestamp(said.at / 1000, UTC).astimezone(zone)
    number = f"m{said.id}, " if numbered else ""
    who = "User" if isinstance(said.message, UserMessage) else "Assistant"
    named = f" ({said.sender})" if said.sender else ""
    return f"[{number}{WEEKDAYS[at.weekday()]} {at:%Y-%m-%d %H:%M}] {who}{named}"


def format_day(at: int, zone: ZoneInfo) -> str:
    """Return the date of a time in milliseconds: ``2026-10-05``."""
    return f"{datetime.fromtimestamp(at / 1000, UTC).astimezone(zone):%Y-%m-%d}"


def describe_times(zone: ZoneInfo) -> str:
    """Return the line before a conversation that says what its times are."""
    return f"(Dates and times are those of {zone}.)"


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
