"""Models of an agent's bundled tool servers."""

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from orchestrator.agentsfile.field_types import ConfigModel, Text

MAX_SECONDS = 840  # the longest tool call of agents.json, less the time to end a command


def _switch(value: object) -> object:
    """Read ``true`` as the defaults and ``false`` as absent."""
    return ({} if value else None) if isinstance(value, bool) else value


def _whole_path(value: str) -> str:
    if not value.startswith(("/", "~/")) or "\0" in value:
        raise ValueError('must be a whole path: begin it with "/" or "~/"')
    return value


FolderPath = Annotated[Text, AfterValidator(_whole_path)]


class WorkspaceLimits(ConfigModel):
    """What one command of a workspace may use, with everything that it starts."""

    seconds: int = Field(120, ge=1, le=MAX_SECONDS)
    """Seconds after which a command is ended."""
    memory_megabytes: int = Field(1024, ge=64)
    """MiB of memory."""
    processes: int = Field(256, ge=8, le=4096)
    """Processes at once."""
    file_megabytes: int = Field(256, ge=1)
    """MiB of one file that it writes."""
    output_kilobytes: int = Field(32, ge=1, le=256)
    """KiB of each of its two outputs that the model is shown: the beginning and the end."""


class Workspace(ConfigModel):
    """A folder of the agent's own, with tools for files and commands in a jail."""

    network: bool = False
    """Whether commands reach the network, the machine's own services included."""
    paths: dict[FolderPath, Literal["ro", "rw"]] = Field(default_factory=dict)
    """Other folders by whole path: "ro" may be read and executed, "rw" also changed."""
    limits: WorkspaceLimits = WorkspaceLimits()
    """What one command may use."""
    sandbox: Literal["required", "off"] = "required"
    """On a kernel without Landlock: refuse commands ("required"), or run them all the same."""


WorkspaceSwitch: TypeAlias = Annotated[
    Workspace | None, BeforeValidator(_switch, json_schema_input_type=bool | Workspace | None)
]
