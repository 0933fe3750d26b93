"""Models of an agent's bundled tool servers: its workspace, and its access to the web."""

import ipaddress
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from orchestrator.agentsfile.field_types import ConfigModel, Text, require_http_url
from orchestrator.agentsfile.server_sandbox import HostPort

DDGS = "ddgs"  # the library, instead of the address of a server
MAX_SECONDS = 840  # the longest tool call of agents.json, less the time to end a command


def _expand_switch(value: object) -> object:
    """Read ``true`` as the defaults and ``false`` as absent."""
    if not isinstance(value, bool | dict | BaseModel | None):
        raise PydanticCustomError("no_switch", "must be true, false, or an object with settings")
    return ({} if value else None) if isinstance(value, bool) else value


def _convert_to_tuple(value: object) -> object:
    """Read a list: behind `_expand_switch` it is no longer JSON, so pydantic would not."""
    return tuple(value) if isinstance(value, list) else value


def _require_search_engine(value: str) -> str:
    try:
        return value if value == DDGS else require_http_url(value)
    except ValueError as error:
        raise ValueError(f'{error}, the address of a SearXNG server, or "{DDGS}"') from None


def _require_bare_host(value: str) -> str:
    host = value.lower().rstrip(".")
    if any(char in host for char in "/@*? ") or (":" in host and not _is_address(host)):
        raise ValueError('must be the name or address of one host, such as "wiki.internal"')
    return host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _require_whole_path(value: str) -> str:
    if not value.startswith(("/", "~/")) or "\0" in value:
        raise ValueError('must be a whole path: begin it with "/" or "~/"')
    return value


Host = Annotated[str, AfterValidator(_require_bare_host)]
SearchEngine = Annotated[
    str, AfterValidator(_require_search_engine), WithJsonSchema({"type": "string"})
]
Places = Annotated[tuple[HostPort, ...], BeforeValidator(_convert_to_tuple)]
Hosts = Annotated[tuple[Host, ...], BeforeValidator(_convert_to_tuple)]
FolderPath = Annotated[Text, AfterValidator(_require_whole_path)]


class WorkspaceLimits(ConfigModel):
    """Limits of one command of a workspace, with everything that the command starts."""

    seconds: int = Field(120, ge=1, le=MAX_SECONDS)
    """Seconds after which a command is ended."""
    memory_megabytes: int = Field(1024, ge=64)
    """MiB of memory."""
    processes: int = Field(256, ge=8, le=4096)
    """Processes at a time."""
    file_megabytes: int = Field(256, ge=1)
    """MiB of one file that it writes."""
    output_kilobytes: int = Field(32, ge=1, le=256)
    """KiB of each of its two outputs that the model is shown: the beginning and the end."""


class Workspace(ConfigModel):
    """A folder of the agent's own, with tools for files and commands in a jail."""

    network: bool | Places = False
    """Whether commands reach the network; a list of "host:port" allows these, through a proxy."""
    paths: dict[FolderPath, Literal["ro", "rw"]] = Field(default_factory=dict)
    """Other folders by whole path: "ro" may be read and executed, "rw" also changed."""
    limits: WorkspaceLimits = WorkspaceLimits()
    """What one command may use."""
    sandbox: Literal["required", "off"] = "required"
    """On a kernel without Landlock: refuse commands ("required"), or run them all the same."""


class Web(ConfigModel):
    """Tools that fetch pages and search the web."""

    search: SearchEngine | None = None
    """Where `search` asks: the address of a SearXNG server, or "ddgs"; no search when absent."""
    allow_private: Hosts = ()
    """Hosts that may be fetched although their addresses are not public."""
    seconds: int = Field(30, ge=1, le=120)
    """Seconds that a fetch may take."""
    megabytes: int = Field(5, ge=1, le=50)
    """MiB of a page that are read."""


WorkspaceSwitch: TypeAlias = Annotated[
    Workspace | None,
    BeforeValidator(_expand_switch, json_schema_input_type=bool | Workspace | None),
]
WebSwitch: TypeAlias = Annotated[
    Web | None, BeforeValidator(_expand_switch, json_schema_input_type=bool | Web | None)
]


class WorkspaceFields(ConfigModel):
    """The fields of each agent for the bundled tool servers."""

    workspace: WorkspaceSwitch = None
    """A folder of its own, with tools for files and commands in a jail; off when absent."""
    web: WebSwitch = None
    """Tools that fetch pages and search the web; off when absent."""
