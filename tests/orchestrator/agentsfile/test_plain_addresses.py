"""Secrets that would go unencrypted over the internet are told."""

from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile.plain_addresses import plain_host

FAR = "http://far.example.org"
MATRIX = {"homeserver": FAR, "user": "@bot:far.example.org"}
SERVER = {"url": f"{FAR}/mcp", "headers": {"Authorization": "x"}}
PROVIDER = {"baseUrl": f"{FAR}/v1", "keyVariable": "ACME_KEY"}


@pytest.mark.parametrize(
    ("url", "host"),
    [
        (FAR, "far.example.org"),
        ("http://8.8.8.8:80/", "8.8.8.8"),
        ("http://[2001:4860:4860::8888]/", "2001:4860:4860::8888"),
        ("https://far.example.org", None),
        ("http://localhost:8008", None),
        ("http://synapse:8008", None),
        ("http://nas.local/", None),
        ("http://host.docker.internal:1/", None),
        ("http://192.168.1.5/", None),
        ("http://100.64.0.9/", None),
        ("http://[::1]/", None),
        ("", None),
    ],
)
def test_only_what_leaves_the_network_counts(url: str, host: str | None) -> None:
    """Names and numbers of this machine and of a home's network do not."""
    assert plain_host(url) == host


@pytest.mark.parametrize(
    ("part", "path", "said"),
    [
        ({"channels": {"matrix": MATRIX}}, "channels.matrix.homeserver", "token and all messages"),
        ({"channels": {"slack": {"api": f"{FAR}/"}}}, "channels.slack.api", "sends its token and"),
        ({"mcpServers": {"s": SERVER}}, "mcpServers.s.url", 'its "headers" unencrypted, to far'),
        ({"providers": {"acme": PROVIDER}}, "providers.acme.baseUrl", "is sent ACME_KEY"),
    ],
)
def test_secret_for_a_far_server_is_told(part: dict[str, Any], path: str, said: str) -> None:
    """At the address."""
    (problem,) = [item for item in parsed(WORK, **part).problems if "unencrypted" in item.message]
    assert problem.severity == "warning"
    assert problem.path == path
    assert said in problem.message
    assert problem.message.endswith("far.example.org; use https")


@pytest.mark.parametrize(
    "part",
    [
        {"channels": {"matrix": {**MATRIX, "enabled": False}}},
        {"mcpServers": {"s": {"url": f"{FAR}/mcp"}}},
        {"mcpServers": {"s": {**SERVER, "disabled": True}}},
        {"providers": {"acme": {"baseUrl": f"{FAR}/v1"}}},
    ],
)
def test_address_that_is_sent_no_secret_is_fine(part: dict[str, Any]) -> None:
    """What is off is sent nothing."""
    assert "unencrypted" not in str([item.message for item in parsed(WORK, **part).problems])
