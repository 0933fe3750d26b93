"""The jail of an MCP server in agents.json: what is refused, and what is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agentsfile import ServerSandbox, parse


def problems(home: Path, sandbox: Any) -> list[tuple[str, str]]:
    """Severity and message of what is said about the jail of a server."""
    server = {"command": "x", "sandbox": sandbox}
    file = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "fallbackAgentId": "a",
        "mcpServers": {"s": server},
    }
    return [(p.severity, p.message) for p in parse(json.dumps(file).encode(), home=home).problems]


def test_usual_jail_and_closed_ones_need_no_word(tmp_path: Path) -> None:
    """No network, an allow-list, and folders of its own are no weakening."""
    for sandbox in (
        {},
        {"network": False},
        {"network": ["api.example.com:443", "localhost:8080"]},
        {"read": ["/srv/data"], "write": ["~/Documents/notes"]},
        {"write": [str(tmp_path / "workspaces" / "a")]},
    ):
        assert problems(tmp_path, sandbox) == []


@pytest.mark.parametrize(
    ("sandbox", "word"),
    [
        ("off", "tool host"),
        ({"sockets": True}, "programs outside"),
        ({"read": ["~/.ssh"]}, "~/.ssh"),
        ({"write": ["~"]}, "~"),
        ({"write": ["/"]}, "/"),
        ({"read": ["~/.config/gh"]}, "~/.config/gh"),
    ],
)
def test_weakening_is_named(tmp_path: Path, sandbox: Any, word: str) -> None:
    """It is a warning that says what the server can do then."""
    ((severity, message),) = problems(tmp_path, sandbox)
    assert severity == "warning"
    assert '"sandbox" is weakened' in message
    assert word in message


@pytest.mark.parametrize("name", ["", "skills", "servers/other", "workspaces/../journal.db"])
def test_path_in_the_home_is_refused(tmp_path: Path, name: str) -> None:
    """The server is left out; workspaces alone can be opened."""
    found = problems(tmp_path, {"read": [str(tmp_path / name)]})
    assert [severity for severity, _ in found if severity == "error"] == ["error"]
    assert "of which only workspaces can be opened" in found[0][1]


@pytest.mark.parametrize(
    "sandbox",
    [
        "none",
        {"read": ["relative"]},
        {"write": [""]},
        {"network": ["api.example.com"]},
        {"network": ["https://api.example.com:443"]},
        {"network": ["api.example.com:70000"]},
        {"networks": False},
        {"network": ["api.example.com:443"], "sockets": True},
    ],
)
def test_jail_that_is_not_understood_leaves_the_server_out(tmp_path: Path, sandbox: Any) -> None:
    """A server never runs with more than was meant."""
    assert {severity for severity, _ in problems(tmp_path, sandbox)} == {"error"}


@pytest.mark.parametrize(
    ("sandbox", "message"),
    [
        ("of", "\"sandbox\" must be an object or 'off', not 'of'"),
        (True, "\"sandbox\" must be an object or 'off', not true"),
        ({"write": ["x"]}, '"sandbox.write[0]" must be a whole path, or begin with "~/"'),
        ({"reed": []}, 'unknown field "sandbox.reed"; did you mean "read"?'),
        ({"sockets": True, "network": ["a:1"]}, '"sandbox" cannot allow "sockets" beside a list'),
    ],
)
def test_wrong_jail_is_one_problem_in_words_of_the_file(
    tmp_path: Path, sandbox: Any, message: str
) -> None:
    """Whether it is a word or an object."""
    ((_, found),) = problems(tmp_path, sandbox)
    assert message in found


def test_jail_of_a_server_elsewhere_is_named_as_idle(tmp_path: Path) -> None:
    """Its address decides where it runs."""
    server = {"url": "https://tools.example/mcp", "sandbox": {"network": False}}
    file = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "fallbackAgentId": "a",
        "mcpServers": {"s": server},
    }
    (found,) = parse(json.dumps(file).encode(), home=tmp_path).problems
    assert (found.severity, "has no effect" in found.message) == ("warning", True)


def test_names_of_hosts_are_compared_in_lower_case() -> None:
    """As the network does."""
    assert ServerSandbox(network=("API.Example.com:443",)).network == ("api.example.com:443",)
