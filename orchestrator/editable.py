"""What people can edit as text: the interface between the editors and those who keep the texts."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from pydantic import JsonValue

from orchestrator.config_problem import Problem
from orchestrator.errors import OrchestratorError


def format_json_text(value: JsonValue) -> str:
    """Return JSON for people to edit, in which characters that cannot be seen are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    shown = (c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return "".join(shown) + "\n"


class TextChangedError(OrchestratorError):
    """A text is another one by now, so it was not replaced."""


class EditableKind(ABC):
    """A kind of texts, each named ``prefix`` and more; `title` says what one of them is.

    ``author`` is who makes the changes that no editor saves. The methods raise OrchestratorError
    for names that no such text can have.
    """

    prefix: ClassVar[str]
    title: ClassVar[str]
    author: ClassVar[str] = "a file"

    @abstractmethod
    async def list_names(self) -> Sequence[str]:
        """Return the names of all texts."""

    @abstractmethod
    async def read_text(self, name: str) -> str | None:
        """Return a text; None where it does not exist."""

    def find_place(self, name: str) -> str:
        """Return the path of a text's file, or what else keeps it."""
        del name
        return "the journal"

    @abstractmethod
    async def write_text(self, name: str, old: str | None, new: str | None, by: str) -> str:
        """Replace ``old`` by ``new``, or remove it; ``by`` is who wants that. It counts at once.

        Returns the name that the text has from now on.

        Raises:
            TextChangedError: the text is not ``old`` any more.
        """

    @abstractmethod
    async def check_text(self, name: str, text: str | None) -> Sequence[Problem]:
        """Return the problems that a text would have; with an error it is not written."""

    @abstractmethod
    async def describe_change(self, name: str, old: str | None, new: str | None) -> Sequence[str]:
        """Return sentences about what changes with ``new``, whether or not it is valid."""
