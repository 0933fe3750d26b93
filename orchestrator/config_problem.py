"""A problem of the configuration: of agents.json, a prompt, a skill or the keys."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from thinker.protocol.problem_line import format_problem

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """One problem; ``line`` counts from 1 and is 0 when the file could not be read.

    In JSON it is as `orchestrator check` prints it, without the ``path`` of the field.
    """

    __pydantic_config__ = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True
    )

    severity: Severity
    file: str
    line: int
    agent_id: str | None
    message: str
    path: Annotated[str, Field(exclude=True)] = field(default="", kw_only=True)

    @classmethod
    def build_unusable(cls, file: object, message: str, line: int = 0) -> Self:
        """Return the error for a file or folder that cannot be used at all."""
        return cls("error", str(file), line, None, message)

    def __str__(self) -> str:
        """``agents.json:12: agent 'work' has no model; set "model" or remove the agent``."""
        return format_problem(self.severity, self.file, self.line, self.message)
