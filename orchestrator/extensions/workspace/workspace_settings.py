"""Settings that the daemon passes to the server of an agent's workspace."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.extensions.workspace.command_order import CommandLimits


@dataclass(frozen=True)
class WorkspaceSettings:
    """Settings of one server. ``paths`` may be written to where the value is True.

    ``workspace`` is the operator's folder, ``chats`` that of the folders of other chats;
    ``programs`` is what the operator installed for the commands of all of them.
    """

    workspace: str
    paths: Mapping[str, bool]
    skills: Sequence[str]
    skill_globs: Sequence[str]
    network: bool
    hosts: Sequence[str]
    jailed: bool
    limits: CommandLimits
    output: int
    chats: str = ""
    programs: str = ""

    @classmethod
    def from_json(cls, text: str) -> "WorkspaceSettings":
        values: dict[str, Any] = json.loads(text)
        return cls(**{**values, "limits": CommandLimits(**values["limits"])})

    def to_json(self) -> str:
        return json.dumps(asdict(self))
