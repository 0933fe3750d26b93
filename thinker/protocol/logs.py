"""The log format of both processes: structlog to stderr, JSON lines or, on a terminal, colours.

An event is a constant name; facts are keys. ``agent_id``, ``chat_id`` and ``turn_id`` are bound
once with `bound`. Prompts, messages and keys are never logged at info level.
"""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO

import orjson
import structlog

SECRET_WORDS = ("token", "secret", "password", "api_key", "authorization")
NOT_SECRETS = ("tokens", "max_tokens")


def configure(
    level: str = "info", *, stream: TextIO | None = None, json: bool | None = None
) -> None:
    """Set up logging for this process.

    Args:
        level: debug, info, warning or error.
        stream: where to write; stderr when None.
        json: JSON lines or coloured text; None decides by whether ``stream`` is a terminal.
    """
    out = stream or sys.stderr
    as_json = not out.isatty() if json is None else json
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(serializer=_dumps)
        if as_json
        else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if as_json else _keep,
            redact,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_number(level)),
        logger_factory=structlog.PrintLoggerFactory(file=out),
        cache_logger_on_first_use=False,
    )


def redact(
    logger: object, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Hide the value of every key whose name says that it is a secret."""
    del logger, method
    for key in event:
        lowered = key.lower()
        if (
            lowered not in NOT_SECRETS
            and any(word in lowered for word in SECRET_WORDS)
            and not isinstance(event[key], int | float)
        ):
            event[key] = "[hidden]"
    return event


@contextmanager
def bound(**facts: object) -> Iterator[None]:
    """Bind facts to every event logged inside."""
    with structlog.contextvars.bound_contextvars(**facts):
        yield


def _keep(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    del logger, method
    return event


def _dumps(event: object, **_: object) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _number(level: str) -> int:
    number = logging.getLevelName(level.upper())
    return number if isinstance(number, int) else logging.INFO
