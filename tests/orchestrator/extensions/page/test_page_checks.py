"""What opens the page to others is told, and what cannot work is refused."""

import json
import socket
from pathlib import Path

import pytest
from fakes.agents_file import validate_file

from orchestrator.agentsfile import parse_agents_file
from orchestrator.extensions.page.page_checks import list_page_findings
from orchestrator.settings import Settings

AGENT = {"agentId": "work", "llmProvider": "demo", "asTool": "handoff"}
NAMES = ["agents.example.org"]
IDENTITY = {"header": "X-Forwarded-Email", "users": {"me@example.org": "operator"}}


def told(**web: object) -> tuple[list[str], list[str]]:
    """The errors and the warnings about `channels.web`."""
    file = {"agents": [AGENT], "channels": {"web": web}}
    problems = parse_agents_file(json.dumps(file).encode(), environ={}, home=Path("/h")).problems
    errors = [problem.message for problem in problems if problem.severity == "error"]
    return errors, [problem.message for problem in problems if problem.severity == "warning"]


def test_page_for_this_machine_alone_is_no_problem() -> None:
    """Nor a socket or a path."""
    assert told() == ([], [])
    assert told(port=9000, path="/agents") == ([], [])
    assert told(socket=True, path="/a/b.c") == ([], [])


@pytest.mark.parametrize(
    ("web", "words"),
    [
        ({"names": NAMES}, ("agents.example.org", "X-Forwarded-Proto")),
        ({"behindProxy": True}, ("any program on this machine", "X-Forwarded-For")),
        ({"names": NAMES, "behindProxy": True}, ("agents.example.org",)),
        ({"socket": True, "port": 9000}, ('nothing listens on its "port"',)),
    ],
)
def test_each_opening_is_told_in_a_sentence(web: dict[str, object], words: tuple[str]) -> None:
    """Once, with what to do."""
    errors, (warning,) = told(**web)
    assert errors == []
    assert all(word in warning for word in words)


def test_identity_is_told_with_whom_it_lets_in() -> None:
    """Over a port every program of the machine can be them."""
    errors, (_, warning) = told(names=NAMES, identity=IDENTITY)
    assert errors == []
    assert "MCP servers among them, can log in as me@example.org (operator)" in warning
    assert '"socket": true' in warning
    _, (_, behind) = told(names=NAMES, identity=IDENTITY, socket=True)
    assert "MCP servers" not in behind
    assert "let the proxy replace it" in behind


def test_page_that_is_off_opens_nothing() -> None:
    """Whatever else is set."""
    assert told(enabled=False, names=NAMES) == ([], [])


@pytest.mark.parametrize(
    ("web", "words"),
    [
        ({"identity": IDENTITY}, 'has "identity" without "names"'),
        ({"names": ["https://x.org/"]}, "must be only the name of a host"),
        ({"path": "agents"}, 'must begin with "/"'),
        ({"path": "/agents/"}, "not end with one"),
        ({"path": "/../x"}, 'must begin with "/"'),
        ({"names": NAMES, "identity": {**IDENTITY, "header": "Cookie"}}, "the proxy alone sets"),
        ({"names": NAMES, "identity": {**IDENTITY, "header": "a b"}}, "the name of a header"),
        ({"names": NAMES, "identity": {**IDENTITY, "users": {"a b": "chat"}}}, "as in an address"),
        ({"names": NAMES, "identity": {**IDENTITY, "users": {"a": "boss"}}}, "'operator'"),
        (
            {"names": NAMES, "identity": {**IDENTITY, "users": {"a": "chat", "A": "viewer"}}},
            "names a person twice",
        ),
    ],
)
def test_what_cannot_work_is_refused(web: dict[str, object], words: str) -> None:
    """With the field and what it must be."""
    (error,), _ = told(**web)
    assert error.startswith("channel 'web'")
    assert words in error


@pytest.mark.parametrize(
    ("web", "verdict", "words"),
    [
        ({}, "ok", "for this machine alone, by 127.0.0.1:8485"),
        ({"socket": True}, "ok", "by its socket"),
        ({"names": ["agents.example.org"]}, "warning", "anyone who reaches the proxy"),
        ({"behindProxy": True}, "warning", "any program on this machine"),
    ],
)
def test_page_says_who_can_reach_it(
    tmp_path: Path, web: dict[str, object], verdict: str, words: str
) -> None:
    """Each opening is a warning."""
    agent = {"agentId": "work", "llmProvider": "demo"}
    file = validate_file({"agents": [agent], "channels": {"web": web}})
    seen = {
        one.subject: one for one in list_page_findings(Settings(home=tmp_path), file, running=False)
    }
    assert seen["web page"].verdict == verdict
    assert words in seen["web page"].text


def test_taken_port_of_the_page_is_a_problem_once_it_is_on(tmp_path: Path) -> None:
    """Before `orchestrator dashboard` the daemon does not listen there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        agent = {"agentId": "work", "llmProvider": "demo"}
        file = validate_file({"agents": [agent], "channels": {"web": {"port": port}}})
        settings = Settings(home=tmp_path)
        (off,) = list_page_findings(settings, file, running=True)
        assert off.verdict == "warning"
        assert off.text.startswith(f"orchestrator dashboard cannot open it: port {port}: ")
        settings.paths.page_on.touch()
        told = [one.text for one in list_page_findings(settings, file, running=False)]
        assert any(text.startswith(f"port {port}: ") for text in told)


def test_page_of_another_daemon_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """The running daemon says that it cannot listen."""
    file = validate_file({"agents": [AGENT]})
    settings = Settings(home=tmp_path)
    settings.paths.page_on.touch()
    hints = ("another hint", "the page cannot listen on port 8485: Address already in use; end it")
    (found,) = list_page_findings(settings, file, running=True, hints=hints)
    assert (found.verdict, found.text) == ("problem", hints[1])
