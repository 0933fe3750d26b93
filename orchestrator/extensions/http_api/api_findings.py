"""Findings of `orchestrator doctor`: who can reach the endpoints, and whether ports are free."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from orchestrator.agentsfile import AgentsFile
from orchestrator.extension import Finding
from orchestrator.extensions.http_api.agent_ports import describe_port_problem
from orchestrator.extensions.http_api.api_checks import list_api_openings
from orchestrator.extensions.http_api.api_settings import LOOPBACK, ApiSettings
from orchestrator.settings import Settings

SUBJECT, NODES = "channel api", "ORCHESTRATOR_NODE_URL"
LOCAL_NAMES = (LOOPBACK, "localhost")
HTTP_PORT = 80
CLOSED = (
    "other nodes reach nothing at {host}, because the endpoints listen on this machine alone; set"
    ' channels.api.host in agents.json, for example to "0.0.0.0"'
)
OTHER_NODE_PORT = (
    "other nodes ask at {url}, but the endpoints listen on port {port}; correct the address or set"
    " ORCHESTRATOR_API_PORT, unless something in between changes the port"
)
OTHER_PORT = "end the program that has it, or set channels.api.port in agents.json"


def list_api_findings(settings: Settings, file: AgentsFile, *, running: bool) -> Iterator[Finding]:
    """Yield what opens the endpoints, and problems of their ports while no daemon runs."""
    if not running:
        yield from _check_agent_ports(file)
        yield from _check_port(settings, file)
    api = file.channels.get_settings(ApiSettings)
    yield from _check_node_address(settings, api)
    if api.enabled:
        for field, effect in list_api_openings(api):
            yield Finding(SUBJECT, f"channels.api.{field}: {effect}", "warning")


def _check_node_address(settings: Settings, api: ApiSettings) -> Iterator[Finding]:
    """Compare the address that other nodes are given with where the endpoints listen."""
    if not settings.node_url:
        return
    address = urlsplit(settings.node_url)
    port = api.port if settings.api_port is None else settings.api_port
    if not api.enabled:
        yield Finding(NODES, "channels.api is off, so other nodes get no answer", "problem")
    elif api.host == LOOPBACK and address.hostname not in LOCAL_NAMES:
        yield Finding(NODES, CLOSED.format(host=address.hostname), "problem")
    elif address.scheme == "http" and port not in (0, address.port or HTTP_PORT):
        yield Finding(NODES, OTHER_NODE_PORT.format(url=settings.node_url, port=port), "warning")


def _check_port(settings: Settings, file: AgentsFile) -> Iterator[Finding]:
    """Open the port of the endpoints for a moment, if a token or a webhook has opened them."""
    api = file.channels.get_settings(ApiSettings)
    port = api.port if settings.api_port is None else settings.api_port
    opened = file.channels.is_publicly_reachable or settings.paths.api_token.exists()
    if port and api.enabled and opened:
        try:
            socket.create_server((api.host, port)).close()
        except OSError as error:
            yield Finding(SUBJECT, f"port {port}: {error.strerror}; {OTHER_PORT}", "problem")


def _check_agent_ports(file: AgentsFile) -> Iterator[Finding]:
    """Open the port of each agent for a moment."""
    for agent in file.agents:
        if agent.enabled and agent.port:
            subject = f"port of {agent.agent_id}"
            try:
                socket.create_server((LOOPBACK, agent.port)).close()
            except OSError as error:
                text = describe_port_problem(agent.port, agent.agent_id, error)
                yield Finding(subject, text, "problem")
            else:
                yield Finding(subject, f"{agent.port} is free")
