"""The jail of an MCP server in agents.json."""

import re
from typing import Annotated

from pydantic import AfterValidator, JsonValue, model_validator

from orchestrator.agentsfile.field_types import ConfigModel, Text

HOST_PORT = re.compile(r"(?P<host>[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:]+\]):(?P<port>[0-9]{1,5})")


def _require_path(value: str) -> str:
    if not (value.startswith(("/", "~/")) or value == "~") or "\0" in value:
        raise ValueError('must be an absolute path, or begin with "~/"')
    return value


def _require_host_port(value: str) -> str:
    found = HOST_PORT.fullmatch(value)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise ValueError('must be a host and a port, such as "api.example.com:443"')
    return value.lower()


def describe_jail(sandbox: JsonValue) -> str:
    """Return in words what the jail of a server's program leaves open, as the file says it."""
    if sandbox == "off":
        return "without a jail, with all that the daemon's user can reach"
    rules = sandbox if isinstance(sandbox, dict) else {}
    lists = {key: " and ".join(map(str, v)) for key, v in rules.items() if isinstance(v, list)}
    words = ["jailed, with network" if rules.get("network", True) else "jailed, without network"]
    if lists.get("network"):
        words = [f"jailed, with {lists['network']} as its only network"]
    if "read" in lists:
        words.append(f"reading {lists['read'] or 'no files'}")
    if lists.get("write"):
        words.append(f"writing {lists['write']}")
    words += ["with sockets of this machine"] * bool(rules.get("sockets"))
    words += ["with user namespaces"] * bool(rules.get("namespaces"))
    return ", ".join(words)


WholePathText = Annotated[Text, AfterValidator(_require_path)]
HostPort = Annotated[Text, AfterValidator(_require_host_port)]


class ServerSandbox(ConfigModel):
    """What the jail of an MCP server leaves open. The daemon's home is closed in any case."""

    read: tuple[WholePathText, ...] | None = None
    """Files and folders that the server may read and run, besides programs and what it may write;
    by default all but the known places of keys, browsers, mail and other secrets."""
    write: tuple[WholePathText, ...] | None = None
    """Files and folders that the server may also write; by default its private folder alone."""
    network: bool | tuple[HostPort, ...] = True
    """Whether the server may use the network; a list of "host:port" allows only those."""
    sockets: bool = False
    """Whether the server may use sockets of this machine, such as those of Docker and D-Bus."""
    namespaces: bool = False
    """Whether the server may make user namespaces, as the sandbox of Chromium does."""

    @model_validator(mode="after")
    def _forbid_hosts_with_sockets(self) -> "ServerSandbox":
        if self.sockets and not isinstance(self.network, bool):
            raise ValueError('cannot allow "sockets" with a list of hosts; set "network" to true')
        return self
