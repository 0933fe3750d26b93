"""A port that another program has is told before the start."""

import socket
from pathlib import Path

import pytest
from fakes.agents_file import validate_file

from orchestrator.agentsfile import AgentsFile
from orchestrator.extension import Finding
from orchestrator.extensions.http_api.api_findings import list_api_findings
from orchestrator.settings import Settings
from thinker.protocol.messages import JsonObject


def found(settings: Settings, file: AgentsFile) -> dict[str, Finding]:
    """What is said while no daemon runs, by its subject."""
    return {one.subject: one for one in list_api_findings(settings, file, running=False)}


def test_taken_port_of_an_agent_is_a_problem_before_the_start(tmp_path: Path) -> None:
    """A running daemon has it itself."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        agent = {"agentId": "work", "llmProvider": "demo", "port": port}
        file = validate_file({"agents": [agent]})
        seen = found(Settings(home=tmp_path), file)
        assert seen["port of work"].verdict == "problem"
        assert f"port {port} of agent 'work' is taken by another" in seen["port of work"].text
    seen = found(Settings(home=tmp_path), file)
    assert seen["port of work"].verdict == "ok"


def test_taken_port_of_the_endpoints_is_a_problem_once_a_token_opens_them(tmp_path: Path) -> None:
    """Without a token the daemon does not listen there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        agent = {"agentId": "work", "llmProvider": "demo"}
        file = validate_file({"agents": [agent], "channels": {"api": {"port": port}}})
        settings = Settings(home=tmp_path)
        assert "channel api" not in {
            one.subject for one in list_api_findings(settings, file, running=False)
        }
        settings.paths.api_token.write_text("digest", "utf-8")
        seen = found(settings, file)
        assert seen["channel api"].verdict == "problem"
        assert f"port {port}: " in seen["channel api"].text
        assert "channels.api.port in agents.json" in seen["channel api"].text
    assert "channel api" not in {
        one.subject for one in list_api_findings(settings, file, running=False)
    }


@pytest.mark.parametrize(
    ("url", "api", "verdict"),
    [
        ("http://10.0.0.2:8484", {"host": "10.0.0.2"}, None),
        ("http://127.0.0.1:8484", {}, None),
        ("https://node.example", {"host": "10.0.0.2"}, None),  # something serves https before it
        ("http://10.0.0.2:8484", {}, "problem"),
        ("http://10.0.0.2:8484", {"enabled": False}, "problem"),
        ("http://10.0.0.2:8485", {"host": "10.0.0.2"}, "warning"),
        ("http://10.0.0.2", {"host": "10.0.0.2"}, "warning"),
        ("", {}, None),
    ],
)
def test_address_for_other_nodes_is_compared_with_where_the_endpoints_listen(
    tmp_path: Path, url: str, api: JsonObject, verdict: str | None
) -> None:
    """What they are given must lead to this daemon."""
    agent: JsonObject = {"agentId": "work", "llmProvider": "demo"}
    file = validate_file({"agents": [agent], "channels": {"api": api}})
    seen = found(Settings(home=tmp_path, node_url=url), file).get("ORCHESTRATOR_NODE_URL")
    assert (seen and seen.verdict) == verdict
