"""What a host tool is: a specification, and an effect in the journal, a function, or other work.

A `JournalTool`'s effect is a change of our own database and is committed together with its
result, so it can never happen twice or be forgotten. A `PlainTool` only reads. What a
`DelegatingTool` begins belongs to its call: a call that is made again finds it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import apsw
from pydantic import JsonValue

from orchestrator.journal.db.store import Store
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.steps import Call
from thinker.protocol.environments import Environments
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec


class ToolFailure(Exception):  # noqa: N818 - an outcome for the model, not an error of ours
    """The tool could not do it; the message is for the model and says what would work."""


@dataclass(frozen=True)
class ToolContext:
    """Whose call it is, and where; ``now`` in milliseconds.

    ``split`` cuts a text into the parts that a channel accepts; ``store`` is for tools that read;
    ``meaning`` says what a text means, if anybody knows; ``denied_tools`` are those that the turn
    may not use; ``environments`` are what variables are set to outside of the prompt.
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
    store: Store
    meaning: Callable[[str], Awaitable[Embedding | None]]
    denied_tools: tuple[str, ...] = ()
    environments: Environments = field(default_factory=Environments)

    @property
    def source(self) -> str:
        """What a row that this call writes is marked with."""
        return f"turn {self.turn_id}"


@dataclass(frozen=True)
class JournalTool:
    """A tool whose effect is a transaction of the journal."""

    spec: ToolSpec
    effect: Callable[[apsw.Connection, ToolContext, JsonObject], str]
    aliases: frozenset[str] = frozenset()  # arguments that are accepted beside those of ``spec``


@dataclass(frozen=True)
class PlainTool:
    """A tool that reads something that is not in the journal alone."""

    spec: ToolSpec
    run: Callable[[ToolContext, JsonObject], Awaitable[str]]


@dataclass(frozen=True)
class DelegatingTool:
    """A tool whose work is a turn of its own.

    ``begun`` tells whether a call has begun it already. ``outcome`` begins it if need be and
    returns what it came to, None while it goes on. After one that ``hands_over`` the turn is
    another agent's.
    """

    spec: ToolSpec
    begun: Callable[[apsw.Connection, Call], bool]
    outcome: Callable[[apsw.Connection, ToolContext, Call], str | None]
    hands_over: bool = False


HostTool: TypeAlias = JournalTool | PlainTool | DelegatingTool


def spec(
    name: str,
    description: str,
    properties: Mapping[str, str | JsonObject],
    required: Sequence[str] = (),
    *,
    side_effect: SideEffect,
    always: bool = True,
) -> ToolSpec:
    """A specification; a parameter is a string with this description, or has this JSON schema.

    ``always``: offered in every turn, also when there are more tools than the model is shown.
    """
    fields: dict[str, JsonValue] = {
        key: {"type": "string", "description": value} if isinstance(value, str) else value
        for key, value in properties.items()
    }
    parameters: JsonObject = {"type": "object", "properties": fields}
    if required:
        parameters["required"] = list(required)
    return ToolSpec(
        name=name,
        description=description,
        parameters=parameters,
        side_effect=side_effect,
        always=always,
    )


def unknown_arguments(tool: HostTool, arguments: JsonObject) -> str | None:
    """Say which arguments the tool does not take, and which it does; None if it takes all."""
    properties = tool.spec.parameters.get("properties")
    known = [*properties] if isinstance(properties, dict) else []
    aliases = tool.aliases if isinstance(tool, JournalTool) else frozenset()
    unknown = [repr(name) for name in arguments if name not in known and name not in aliases]
    if not unknown:
        return None
    takes = f"takes: {', '.join(known)}" if known else "takes no arguments"
    plural = "s" if len(unknown) > 1 else ""
    return f"unknown argument{plural} {', '.join(unknown)}; {tool.spec.name} {takes}"


def text(arguments: JsonObject, key: str, default: str = "") -> str:
    """A string argument; other scalars as text."""
    value = arguments.get(key)
    return default if value is None else str(value).strip()


def number(arguments: JsonObject, key: str, default: float, low: float, high: float) -> float:
    """A number argument between two bounds.

    Raises:
        ToolFailure: it is none, or out of bounds.
    """
    value = arguments.get(key)
    if value is None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise ToolFailure(f"{key} must be a number from {low:g} to {high:g}")
    return value
