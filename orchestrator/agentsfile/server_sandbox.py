"""The jail of an MCP server in agents.json, and what of it is a weakening."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from orchestrator.agentsfile.field_types import ConfigModel, Text

HOST_PORT = re.compile(r"(?P<host>[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:]+\]):(?P<port>[0-9]{1,5})")
# Folders of a user with keys, or with what starts by itself outside of any jail.
SENSITIVE = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".password-store"),
    *(".config", ".local/bin", ".local/share/keyrings", ".bashrc", ".profile", ".zshrc"),
)
SHARED = frozenset({"/", "/etc", "/home", "/root", "/run", "/var"})


def _path(value: str) -> str:
    if not (value.startswith(("/", "~/")) or value == "~") or "\0" in value:
        raise ValueError('must be a whole path, or begin with "~/"')
    return value


def _host_port(value: str) -> str:
    found = HOST_PORT.fullmatch(value)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise ValueError('must be a host and a port, such as "api.example.com:443"')
    return value.lower()


WholePathText = Annotated[Text, AfterValidator(_path)]
HostPort = Annotated[Text, AfterValidator(_host_port)]


class ServerSandbox(ConfigModel):
    """What the jail of an MCP server leaves open. The daemon's home is closed in any case."""

    read: tuple[WholePathText, ...] | None = None
    """Files and folders that it may read and run, beside programs; by default all."""
    write: tuple[WholePathText, ...] | None = None
    """Files and folders that it may write to, too; by default all but what starts programs."""
    network: bool | tuple[HostPort, ...] = True
    """Whether it may use the network; a list of "host:port" allows these alone, through a proxy."""
    sockets: bool = Field(default=False)
    """Whether it may use sockets of this machine, such as those of Docker and D-Bus."""

    @model_validator(mode="after")
    def _either_hosts_or_sockets(self) -> "ServerSandbox":
        if self.sockets and not isinstance(self.network, bool):
            raise ValueError('cannot allow "sockets" beside a list of hosts; set "network" to true')
        return self


def weakenings(sandbox: ServerSandbox | str) -> Iterator[tuple[str, str]]:
    """Yield what lets a server out of its jail: the field ("" for all), and what it can do then."""
    if not isinstance(sandbox, ServerSandbox):
        yield "", "it can read and change what the tool host can, and use any socket"
        return
    if sandbox.sockets:
        yield "sockets", "it can ask programs outside of its jail to act for it"
    for name in ("read", "write"):
        for path in getattr(sandbox, name) or ():
            if _sensitive(path):
                yield name, f"it reaches {path}, which holds keys or starts programs"


def inside_home(sandbox: ServerSandbox, home: Path) -> Iterator[tuple[str, str]]:
    """Yield the field and path of what lies in the daemon's home, beside the workspaces."""
    home = home.resolve()
    for name in ("read", "write"):
        for path in getattr(sandbox, name) or ():
            real = Path(path).expanduser().resolve()
            if real.is_relative_to(home) and not real.is_relative_to(home / "workspaces"):
                yield name, path


def _sensitive(path: str) -> bool:
    real = Path(path).expanduser()
    user = Path("~").expanduser()
    return (
        str(real) in SHARED
        or user.is_relative_to(real)
        or any(real.is_relative_to(user / name) for name in SENSITIVE)
    )
