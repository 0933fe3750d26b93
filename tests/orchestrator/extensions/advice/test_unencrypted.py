"""Secrets that would go unencrypted over the internet are told."""

from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from fakes.installed_extensions import install_extensions
from fakes.pigeon import write_pigeon_folder

from orchestrator.extension import Extension
from orchestrator.extensions.advice.extension import AdviceExtension

FAR = "http://far.example.org"
LOFT = {"loft": FAR, "ring": "bot-1"}
SERVER = {"url": f"{FAR}/mcp", "headers": {"Authorization": "x"}}
PROVIDER = {"baseUrl": f"{FAR}/v1", "keyVariable": "ACME_KEY"}


class ServersExtension(Extension):
    """Says that something keeps MCP servers, as `mcp_client` does."""

    name = "mcp_client"


@pytest.fixture(autouse=True)
def pigeon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel host with pigeons."""
    own = (AdviceExtension(), ServersExtension())
    install_extensions(monkeypatch, own=own, channels={"pigeon": write_pigeon_folder(tmp_path)})


@pytest.mark.parametrize(
    ("part", "path", "said"),
    [
        ({"channels": {"pigeon": LOFT}}, "channels.pigeon.loft", "token and all messages"),
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
        {"channels": {"pigeon": {**LOFT, "enabled": False}}},
        {"mcpServers": {"s": {"url": f"{FAR}/mcp"}}},
        {"mcpServers": {"s": {**SERVER, "disabled": True}}},
        {"providers": {"acme": {"baseUrl": f"{FAR}/v1"}}},
    ],
)
def test_address_that_is_sent_no_secret_is_fine(part: dict[str, Any]) -> None:
    """What is off is sent nothing."""
    assert "unencrypted" not in str([item.message for item in parsed(WORK, **part).problems])
