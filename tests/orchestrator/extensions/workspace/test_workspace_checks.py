"""What `orchestrator check` says about workspaces."""

import json
import sys
from pathlib import Path

import pytest
from fakes.agents_file import WORK

from orchestrator.agentsfile import parse_agents_file
from orchestrator.extensions.workspace.workspace_checks import PROGRAM


def messages(home: Path, workspace: object, field: str = "workspace") -> list[str]:
    """What is said about an agent with this workspace, without the line of its binding."""
    data = json.dumps(
        {
            "agents": [{**WORK, field: workspace}],
            "bindings": [{"channel": "console", "chatId": "*", "agentId": "work"}],
        }
    ).encode()
    environ = {"ORCHESTRATOR_HOME": str(home), "GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"}
    return [problem.message for problem in parse_agents_file(data, environ=environ).problems]


def test_missing_libraries_are_answered_with_the_line_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with what does not work without it, where an agent wants it."""
    monkeypatch.setitem(sys.modules, "html_to_markdown", None)
    monkeypatch.setitem(sys.modules, "ddgs", None)
    unread, unsearched = messages(tmp_path, {"search": "ddgs"}, "web")
    assert unread.startswith("agent 'work' can read no HTML, because html_to_markdown is not inst")
    assert unread.endswith("pip install 'orchestrator-daemon[workspace]'")
    assert unsearched.startswith("agent 'work' cannot search, because ddgs is not installed; run")
    assert unsearched.endswith("pip install 'orchestrator-daemon[search]'")
    assert messages(tmp_path, {"search": "https://searx.example"}, "web") == [unread]
    assert messages(tmp_path / "home", {}) == []


def test_plain_workspace_opens_nothing(tmp_path: Path) -> None:
    """Nor does a folder that is only read."""
    (tmp_path / "notes").mkdir()
    assert messages(tmp_path / "home", {}) == []
    assert messages(tmp_path / "home", {"paths": {str(tmp_path / "notes"): "ro"}}) == []


@pytest.mark.parametrize(
    ("workspace", "said"),
    [
        ({"network": True}, "reach the network and this machine's services"),
        ({"network": ["pypi.org:443"]}, "commands of its workspace reach pypi.org:443"),
        ({"sandbox": "off"}, "without Landlock its commands reach all files"),
        ({"paths": {"{tmp}": "rw"}}, "holds or is in the daemon's home, so it is not used"),
        ({"paths": {"{tmp}/home/skills": "ro"}}, "so it is not used"),
        ({"paths": {"{tmp}/missing": "ro"}}, "is not a folder here; create it"),
        ({"paths": {"{tmp}/project": "rw"}}, "can be changed by what its model is told"),
        ({"paths": {"{tmp}/project": "rw"}}, "with the hooks of its Git repository"),
        ({"paths": {f"{PROGRAM}/tests": "rw"}}, "the daemon's program, which commands would"),
    ],
)
def test_each_opening_is_named(tmp_path: Path, workspace: dict[str, object], said: str) -> None:
    """With the agent that it belongs to."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    filled = json.loads(json.dumps(workspace).replace("{tmp}", str(tmp_path)))
    (message,) = messages(tmp_path / "home", filled)
    assert message.startswith("agent 'work': ")
    assert said in message


@pytest.mark.parametrize(
    "workspace",
    [
        {"network": ["pypi.org"]},
        {"network": "pypi.org:443"},
        {"paths": {"relative": "ro"}},
        {"paths": {"/srv": "w"}},
        {"limits": {"seconds": 0}},
        5,
        {"net": True},
    ],
)
def test_wrong_settings_are_errors(workspace: object) -> None:
    """The agent is left out."""
    data = json.dumps({"agents": [WORK, {**WORK, "agentId": "bad", "workspace": workspace}]})
    assert {error.agent_id for error in parse_agents_file(data.encode()).errors} == {"bad"}


def test_hosts_with_private_addresses_are_named() -> None:
    """Each with the agent that may fetch from it."""
    agent = {**WORK, "web": {"allowPrivate": ["wiki.internal"]}}
    loaded = parse_agents_file(
        json.dumps({"agents": [agent], "fallbackAgentId": "work"}).encode(), environ=None
    )
    (problem,) = loaded.problems
    assert problem.message == ("agent 'work' may fetch from wiki.internal, whatever its address is")


@pytest.mark.parametrize(
    "web",
    [
        {"search": "google"},
        {"allowPrivate": ["*.internal"]},
        {"allowPrivate": ["http://x"]},
        {"seconds": 0},
    ],
)
def test_wrong_settings_of_the_web_are_errors(web: object) -> None:
    """Patterns and addresses are no hosts."""
    data = json.dumps({"agents": [WORK, {**WORK, "agentId": "bad", "web": web}]})
    assert [error.agent_id for error in parse_agents_file(data.encode()).errors] == ["bad"]


NAMED = [{"channel": "telegram", "chatId": str(chat), "agentId": "work"} for chat in (1, 2)]
ANYBODY = [{"channel": "api", "chatId": "*", "agentId": "work"}]


@pytest.mark.parametrize(
    ("bindings", "memory", "places"),
    [
        (NAMED, None, "telegram:1, telegram:2"),
        (ANYBODY, "agent", "the binding api:*"),
        (NAMED[:1], None, ""),
        (NAMED, "person", ""),
        (ANYBODY, None, ""),
    ],
)
def test_people_who_share_a_workspace_are_named(
    tmp_path: Path, bindings: list[dict[str, str]], memory: str | None, places: str
) -> None:
    """One line an agent, where chats of more than one person share its memory."""
    agent = {**WORK, "workspace": True, "memory": memory}
    data = json.dumps({"agents": [agent], "bindings": bindings}).encode()
    environ = {"ORCHESTRATOR_HOME": str(tmp_path), "GROQ_API_KEY": "k"}
    problems = parse_agents_file(data, environ=environ).problems
    shared = [item.message for item in problems if "one workspace for all chats" in item.message]
    assert [f"({places})" in line for line in shared] == ([True] if places else [])
