"""The log format of all processes: structlog to stderr, as JSON lines or, on a terminal, in words.

An event is a constant name; facts are keys. ``agent_id``, ``chat_id`` and ``turn_id`` are bound
once with `bound`. Prompts, messages and keys are never logged at info level.

Where: are secrets kept out of the logs?
"""

import json
import logging
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TextIO, cast

import orjson
import structlog
from structlog.typing import EventDict, Processor

from thinker.protocol.log_sentences import format_sentence, is_color_wanted
from thinker.protocol.names import format_chat_name
from thinker.protocol.visible_text import escape_hidden

SECRET_WORDS = ("token", "secret", "password", "api_key", "api-key", "apikey", "authorization")
NOT_SECRETS = ("tokens", "max_tokens")

bound = structlog.contextvars.bound_contextvars  # binds facts to the events inside a block


def configure_logging(level: str = "info") -> None:
    """Log to stderr at this level (debug, info, warning, error) and above."""
    logger = structlog.WriteLogger(cast(TextIO, LossyStream(sys.stderr)))
    structlog.configure(
        processors=_build_processors(lines=not sys.stderr.isatty()),
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
        ),
        logger_factory=lambda *_: logger,
    )


@cache  # forked workers share them
def _build_processors(*, lines: bool) -> list[Processor]:
    renderer: Processor = (
        structlog.processors.JSONRenderer(serializer=_dump_json) if lines else _render_sentence
    )
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact_secrets,
        name_chats,
        renderer,
    ]


def redact_secrets(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Hide the value of every key whose name marks it as a secret (a structlog processor)."""
    for key in event:
        if _is_secret_name(key) and not isinstance(event[key], int | float):
            event[key] = "[hidden]"
    return event


def name_chats(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Write chats in the form that commands accept, not as journal keys (a structlog processor)."""
    for key in ("chat", "chat_id"):
        if isinstance(event.get(key), str):
            event[key] = format_chat_name(event[key])
    return event


@lru_cache
def _is_secret_name(key: str) -> bool:
    lowered = key.lower()
    return lowered not in NOT_SECRETS and any(word in lowered for word in SECRET_WORDS)


def _render_sentence(_logger: object, _method: str, event: EventDict) -> str:
    return format_sentence(event, colored=is_color_wanted())


def _dump_json(event: object, **_: object) -> str:
    try:
        text = orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        return text if text.isascii() and "\x7f" not in text else escape_hidden(text)
    except TypeError:  # a file name that is not UTF-8, a number over 64 bits
        text = json.dumps(event, default=str, skipkeys=True, ensure_ascii=False)
        return escape_hidden(text.encode("utf-8", "replace").decode())


@dataclass(frozen=True)
class LossyStream:
    """A stream for logs, which drops output that it cannot write.

    All processes of the daemon share the file behind stderr, and any of them can make it
    non-blocking. Logging must not fail because of that.
    """

    stream: TextIO

    def write(self, text: str) -> None:
        with suppress(OSError):
            self.stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self.stream.flush()
