"""Errors and problems of prompt definitions."""

from collections.abc import Iterable
from dataclasses import dataclass


def format_path(path: Iterable[str | int]) -> str:
    """Return a path as text, such as ``tools[0].name``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


class DefinitionError(Exception):
    """A prompt definition cannot be used; the message says what to correct."""


class CircularIncludeError(DefinitionError):
    """Definitions include each other; ``path`` begins and ends with the same name."""

    def __init__(self, path: tuple[str, ...]) -> None:
        super().__init__(f"includes go in a circle: {' > '.join(path)}; remove one of them")
        self.path = path


class UnknownPromptError(DefinitionError):
    """A definition does not exist; ``by`` is the definition that includes it, if any."""

    def __init__(self, name: str, by: str | None = None) -> None:
        problem = f"there is no prompt '{name}'"
        if by is not None:
            problem = f"prompt '{by}' includes the unknown prompt '{name}'"
        super().__init__(f"{problem}; add prompts/{name}.md or correct the name")
        self.name = name
        self.by = by


class PromptTooLargeError(DefinitionError):
    """The text with its includes is longer than any model can read."""


@dataclass(frozen=True)
class DefinitionProblem:
    """A problem in a definition: the path to the invalid part, the violated rule, a message."""

    path: tuple[str | int, ...]
    rule: str
    message: str

    @property
    def field(self) -> str:
        return format_path(self.path)

    def __str__(self) -> str:
        """Return a line such as ``tools[0].name: must not be empty``."""
        return f"{self.field}: {self.message}" if self.path else self.message
