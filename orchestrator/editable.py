"""What people can edit as text: the interface between the editors and those who keep the texts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from orchestrator.config_problem import Problem


class EditableKind(ABC):
    """A kind of texts, each named ``prefix`` and more; `title` says what one of them is.

    The methods raise OrchestratorError for names that no such text can have.
    """

    prefix: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    async def list_names(self) -> Sequence[str]:
        """Return the names of all texts."""

    @abstractmethod
    async def read_text(self, name: str) -> str | None:
        """Return a text; None where it does not exist."""

    @abstractmethod
    async def write_text(self, name: str, text: str | None, by: str) -> None:
        """Replace a text whole, or remove it; ``by`` is who wants that. It is in force at once."""

    @abstractmethod
    async def check_text(self, name: str, text: str | None) -> Sequence[Problem]:
        """Return the problems that a text would have; with an error it is not written."""

    @abstractmethod
    async def describe_change(self, name: str, old: str | None, new: str | None) -> Sequence[str]:
        """Return sentences about what changes with ``new``, whether or not it is valid."""
