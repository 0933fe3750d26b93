"""A tool of one of these servers: its description, its hints, and the function that runs it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class CallFailure(Exception):  # noqa: N818 - an outcome for the model, not a fault here
    """The tool failed; the message tells the model why and what would work."""


@dataclass(frozen=True)
class Picture:
    """An image as a tool's result, in base64."""

    media_type: str
    data: str


@dataclass(frozen=True)
class NamedFile:
    """A file as a tool's result, in base64."""

    name: str
    data: str


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, the event that is set when the call is cancelled, and its variables.

    The daemon alone sets the variables: no model sees or writes them.
    """

    values: Mapping[str, Any]
    cancelled: threading.Event = field(default_factory=threading.Event)
    env: Mapping[str, str] = field(default_factory=dict)

    def get_text(self, key: str, default: str | None = None) -> str:
        """Return an argument that is text.

        Raises:
            CallFailure: the argument is missing or is not text.
        """
        value = self.values.get(key, default)
        if not isinstance(value, str):
            problem = "is missing" if value is None else "must be text"
            raise CallFailure(f"{key} {problem}; correct the call")
        return value

    def get_number(self, key: str, default: int, low: int, high: int) -> int:
        """Return an argument that is a whole number, limited to the bounds.

        Raises:
            CallFailure: the argument is not a number.
        """
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN
            raise CallFailure(f"{key} must be a number from {low} to {high}")
        return int(min(max(value, low), high))


@dataclass(frozen=True)
class ServedTool:
    """One tool. ``read_only`` changes nothing; ``idempotent`` may run twice with one effect.

    ``parameters`` has for each parameter its JSON Schema, or only a description, if it is text.
    """

    name: str
    description: str
    parameters: Mapping[str, str | Json]
    run: Callable[[Arguments], str | Picture | NamedFile]
    required: tuple[str, ...] = ()
    read_only: bool = False
    idempotent: bool = False
    open_world: bool = False

    def build_listing(self) -> Json:
        """Return the tool as ``tools/list`` shows it."""
        properties = {
            name: {"type": "string", "description": about} if isinstance(about, str) else about
            for name, about in self.parameters.items()
        }
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": list(self.required),
            },
            "annotations": {
                "readOnlyHint": self.read_only,
                "idempotentHint": self.read_only or self.idempotent,
                "destructiveHint": not self.read_only,
                "openWorldHint": self.open_world,
            },
        }


def build_integer_schema(about: str) -> Json:
    """Return the schema of a whole number."""
    return {"type": "integer", "description": about}
