"""The jail of an MCP server in agents.json: what is refused, and what is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agentsfile import ServerSandbox, parse_agents_file
from orchestrator.agentsfile.server_sandbox import describe_jail


def problems(home: Path, sandbox: Any) -> list[tuple[str, str]]:
    """Severity and message of what is said about the jail of a server."""
    server = {"command": "x", "sandbox": sandbox}
    file = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "fallbackAgentId": "a",
        "mcpServers": {"s": server},
    }
    return [
        (p.severity, p.message)
        for p in parse_agents_file(json.dumps(file).encode(), home=home).problems
    ]


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
        ({"write": ["x"]}, '"sandbox.write[0]" must be an absolute path, or begin with "~/"'),
        ({"reed": []}, 'unknown field "sandbox.reed"; did you mean "read"?'),
        ({"sockets": True, "network": ["a:1"]}, '"sandbox" cannot allow "sockets" with a list'),
    ],
)
def test_wrong_jail_is_one_problem_in_words_of_the_file(
    tmp_path: Path, sandbox: Any, message: str
) -> None:
    """Whether it is a word or an object."""
    ((_, found),) = problems(tmp_path, sandbox)
    assert message in found


def test_names_of_hosts_are_compared_in_lower_case() -> None:
    """As the network does."""
    assert ServerSandbox(network=("API.Example.com:443",)).network == ("api.example.com:443",)


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [
        ("off", "without a jail, with all that the daemon's user can reach"),
        (None, "jailed, with network"),
        ({"network": []}, "jailed, without network"),
        ({"network": ["a.example:443"]}, "jailed, with a.example:443 as its only network"),
        ({"read": [], "network": False}, "jailed, without network, reading no files"),
        (
            {"read": ["/srv/a", "/srv/b"], "write": ["/srv/c"]},
            "jailed, with network, reading /srv/a and /srv/b, writing /srv/c",
        ),
        (
            {"sockets": True, "namespaces": True},
            "jailed, with network, with sockets of this machine, with user namespaces",
        ),
    ],
)
def test_all_that_a_jail_leaves_open_is_named(sandbox: Any, words: str) -> None:
    """Before it is saved one knows what the program can reach."""
    assert describe_jail(sandbox) == words
