"""`orchestrator api token`: what it says without a daemon."""

import json
from pathlib import Path

import pytest
from fakes.control_server import command

AGENTS = {"agents": [{"agentId": "home", "llmProvider": "demo"}]}


@pytest.mark.parametrize(
    ("channels", "address"),
    [
        ({}, "http://127.0.0.1:8484/v1 "),
        ({"api": {"port": 9000}}, "http://127.0.0.1:9000/v1 "),
        ({"api": {"port": 0}}, "takes a free port"),
        ({"api": {"port": "x"}}, "http://127.0.0.1:8484/v1 "),
    ],
)
def test_token_comes_with_the_address_of_this_home(
    channels: object, address: str, tmp_path: Path
) -> None:
    """On stderr, so that the token alone can be piped."""
    (tmp_path / "agents.json").write_text(json.dumps(AGENTS | {"channels": channels}), "utf-8")
    made = command(tmp_path, "api", "token")
    assert made.exit_code == 0
    assert address in made.stderr
    assert made.stdout.startswith("orc_")


def test_port_of_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for the daemon."""
    monkeypatch.setenv("ORCHESTRATOR_API_PORT", "9100")
    assert "http://127.0.0.1:9100/v1" in command(tmp_path, "api", "token").stderr
    assert command(tmp_path, "api", "token", "--revoke").stdout.startswith("revoked")
