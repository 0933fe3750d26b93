"""What a host tool is: a specification, and either an effect in the journal or a function.

A `JournalTool`'s effect is a change of our own database and is committed together with its
result, so it can never happen twice or be forgotten. A `PlainTool` only reads.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import apsw
from pydantic import JsonValue

from orchestrator.journal.outbox import Address
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec


class ToolFailure(Exception):  # noqa: N818 - an outcome for the model, not an error of ours
    """The tool could not do it; the message is for the model and says what would work."""


@dataclass(frozen=True)
class ToolContext:
    """Whose call it is, and where; ``now`` in milliseconds.

    ``split`` cuts a text into the parts that a channel accepts.
    """

    agent_id: str
    turn_id: str
    address: Address
    now: int
    timezone: str
    skill_directories: tuple[Path, ...]
    skills: tuple[str, ...]
    split: Callable[[str, str], tuple[str, ...]]
    mode: Callable[[Address], str]


@dataclass(frozen=True)
class JournalTool:
    """A tool whose effect is a transaction of the journal."""

    spec: ToolSpec
    effect: Callable[[apsw.Connection, ToolContext, JsonObject], str]


@dataclass(frozen=True)
class PlainTool:
    """A tool that reads something outside the journal."""

    spec: ToolSpec
    run: Callable[[ToolContext, JsonObject], Awaitable[str]]


HostTool: TypeAlias = JournalTool | PlainTool


def spec(
    name: str,
    description: str,
    properties: Mapping[str, str],
    required: Sequence[str] = (),
    *,
    side_effect: SideEffect,
) -> ToolSpec:
    """A specification whose parameters are all strings, each with its description."""
    fields: dict[str, JsonValue] = {
        key: {"type": "string", "description": text} for key, text in properties.items()
    }
    parameters: JsonObject = {"type": "object", "properties": fields}
    if required:
        parameters["required"] = list(required)
    return ToolSpec(
        name=name,
        description=description,
        parameters=parameters,
        side_effect=side_effect,
        always=True,
    )


def text(arguments: JsonObject, key: str, default: str = "") -> str:
    """A string argument; other scalars as text."""
    value = arguments.get(key)
    return default if value is None else str(value).strip()
