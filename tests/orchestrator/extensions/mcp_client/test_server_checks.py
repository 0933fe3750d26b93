"""MCP servers in agents.json: what has no effect, what is missing, and what opens a jail."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import parse_agents_file
from thinker.jail import landlock


def list_warnings(**servers: dict[str, Any]) -> list[str]:
    """Return what is said of servers beside an agent."""
    loaded = parsed(WORK, mcpServers=servers)
    assert not loaded.errors
    return [problem.message for problem in loaded.problems]


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


def test_mcp_servers_of_other_hosts_are_accepted_with_warnings() -> None:
    """A copied section loads; unknown fields are named."""
    servers = {
        "files": {"command": "npx", "args": ["x"], "disable": True},
        "web": {"url": "http://h", "disabled": True},
    }
    loaded = parsed(WORK, mcpServers=servers)
    assert not loaded.errors
    assert set(loaded.file.mcp_servers) == {"files", "web"}
    (unknown,) = (text for text in list_warnings(**servers) if "is unknown" in text)
    assert unknown.endswith('"disable" is unknown and ignored; did you mean "disabled"?')
    assert [server.is_enabled for server in loaded.file.mcp_servers.values()] == [True, False]


@pytest.mark.parametrize(
    ("server", "advice"),
    [
        ({"url": "http://h/mcp", "type": "websocket"}, '"url"; write "http" or "sse", or remove'),
        ({"url": "http://h/sse", "type": "SSE"}, '"url"; write "http" or "sse", or remove'),
        ({"command": "true", "type": "sse"}, '"command"; write "stdio", or remove'),
        ({"url": "http://h/mcp", "type": "streamable-http"}, ""),
        ({"command": "true", "type": "stdio"}, ""),
    ],
)
def test_transport_that_does_not_fit_the_server_is_warned_about(
    server: dict[str, str], advice: str
) -> None:
    """It has no effect; names that other hosts give to streamable HTTP fit."""
    about = [text for text in list_warnings(s=server) if "the type" in text]
    assert len(about) == bool(advice)
    assert all(advice in text for text in about)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"command": "no-such-program"}, ["install it or write its whole path"]),
        (
            {"command": "sh -c x"},
            ['write the program alone, "sh", and each further word in "args"'],
        ),
        ({"command": "sh", "args": ["-c", "x"]}, []),
        ({"command": "./server", "cwd": "/elsewhere"}, []),
        ({"command": "no-such-program", "disabled": True}, []),
        ({"url": "http://127.0.0.1:1/mcp"}, []),
    ],
)
def test_program_of_a_server_that_is_not_here_gets_a_warning(
    server: dict[str, object], said: list[str]
) -> None:
    """Before the first start, with its line."""
    text = json.dumps({"agents": [WORK], "fallbackAgentId": "work", "mcpServers": {"s": server}})
    warnings = parse_agents_file(
        text.encode(), environ={"PATH": "/bin:/usr/bin", "GROQ_API_KEY": "k"}
    ).problems
    assert [problem.message.partition("here; ")[2] for problem in warnings] == said
    assert {(problem.severity, problem.line) for problem in warnings} <= {("warning", 1)}


def test_usual_jail_and_closed_ones_need_no_word(tmp_path: Path) -> None:
    """No network, an allow-list, and folders to read are no weakening."""
    for sandbox in (
        {},
        {"network": False},
        {"network": ["api.example.com:443", "localhost:8080"]},
        {"read": ["/srv/data", "~/Documents/notes"], "write": []},
        {"read": ["/"]},
    ):
        assert problems(tmp_path, sandbox) == []


@pytest.mark.parametrize(
    ("sandbox", "word"),
    [
        ("off", "tool host"),
        ({"sockets": True}, "programs outside"),
        ({"namespaces": True}, "parts of the kernel"),
        ({"write": ["/srv"]}, "it can change /srv"),
        ({"write": ["/srv/data"]}, "it can change /srv/data, which is not there; make it"),
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


CHECKOUT = Path(landlock.__file__).parents[2]


@pytest.mark.parametrize(
    "path",
    [
        *("~/.ssh", "~/.bashrc", "~/.cargo/env", "~/.tmux.conf", "~/.local/share/uv", "~/.npm/x"),
        *("~/.aws/config", "~/.docker/config.json", "~/.mozilla", "~/.password-store"),
        *("~/.config/systemd/user", "/usr/local/bin", "/etc/profile.d"),
        *(str(CHECKOUT), str(CHECKOUT / ".git" / "hooks"), str(CHECKOUT / "tests")),
    ],
)
def test_place_that_starts_programs_or_holds_keys_cannot_be_written(
    tmp_path: Path, path: str
) -> None:
    """The server is left out: with such a folder it would leave its jail."""
    ((severity, message),) = problems(tmp_path, {"write": [path]})
    assert severity == "error"
    assert f"{path} holds keys or starts programs outside of the jail" in message


@pytest.mark.parametrize("inside", ["", ".git/hooks", "one", "one/two"])
def test_repository_that_can_be_changed_is_named(tmp_path: Path, inside: str) -> None:
    """Git starts its hooks outside of any jail; no rule of the kernel leaves them out."""
    repository = tmp_path / "user" / (inside if "." not in inside else "")
    (repository / ".git" / "hooks").mkdir(parents=True)
    opened = tmp_path / "user" / (inside if "." in inside else "")
    ((severity, message),) = problems(tmp_path / "home", {"write": [str(opened)]})
    assert severity == "warning"
    assert f"it can change {opened} and with it the hooks and settings of a Git repo" in message


def closed(tmp_path: Path, **server: Any) -> list[str]:
    """What is said about the paths of a server whose program is there."""
    text = json.dumps({"agents": [WORK], "fallbackAgentId": "work", "mcpServers": {"s": server}})
    environ = {"PATH": "/bin:/usr/bin", "GROQ_API_KEY": "k"}
    found = parse_agents_file(text.encode(), environ=environ, home=tmp_path / "home").problems
    return [problem.message for problem in found]


@pytest.mark.parametrize(
    "server",
    [
        {"args": ["{}"]},
        {"args": ["--repository={}"]},
        {"env": {"MEMORY": "{}"}},
        {"cwd": "{}"},
    ],
)
def test_folder_that_a_server_could_write_before_is_told_with_the_words_to_type(
    tmp_path: Path, server: dict[str, Any]
) -> None:
    """Until agents.json says what the server needs."""
    folder = tmp_path / "notes"
    folder.mkdir()
    filled = json.loads(json.dumps(server).replace("{}", str(folder)))
    (said,) = closed(tmp_path, command="true", **filled)
    opened = {"read": ["/"], "write": [str(folder)]}
    assert f'can read {folder}, but not change it; if it must, write "sandbox": ' in said
    assert json.dumps(opened) in said
    silent: list[dict[str, list[str]]] = [{"read": ["/"]}, {"read": [str(folder)]}, {"write": []}]
    for sandbox in silent:
        assert closed(tmp_path, command="true", **filled, sandbox=sandbox) == []
    (left,) = closed(tmp_path, command="true", **filled, sandbox=opened)
    assert left.endswith(f"it can change {folder}")


def test_key_that_a_server_could_read_before_is_told_with_the_words_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is named on purpose, so it may be opened."""
    monkeypatch.setenv("HOME", str(tmp_path))
    key = tmp_path / ".config" / "gcloud" / "key.json"
    key.parent.mkdir(parents=True)
    key.touch()
    (said,) = closed(tmp_path, command="true", env={"CREDENTIALS": str(key)})
    assert f"cannot read {key}, where keys" in said
    assert said.endswith(f'write "sandbox": {json.dumps({"read": ["/", str(key)]})}')


def test_programs_missing_paths_and_other_words_are_not_told(tmp_path: Path) -> None:
    """Only what a server may have written."""
    program = tmp_path / "main.py"
    program.touch()
    args = [str(program), "/nonexistent", "/usr/share", "/", "/etc", "notes", "-y", "a/b"]
    assert closed(tmp_path, command="true", args=args) == []


@pytest.mark.parametrize("name", ["", "skills", "servers/other", "workspaces/../journal.db"])
def test_path_in_the_home_is_refused(tmp_path: Path, name: str) -> None:
    """The server is left out; workspaces alone can be opened."""
    found = problems(tmp_path, {"read": [str(tmp_path / name)]})
    assert [severity for severity, _ in found if severity == "error"] == ["error"]
    assert "of which only workspaces can be opened" in found[0][1]


def test_jail_of_a_server_elsewhere_is_named_as_idle(tmp_path: Path) -> None:
    """Its address decides where it runs."""
    server = {"url": "https://tools.example/mcp", "sandbox": {"network": False}}
    file = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "fallbackAgentId": "a",
        "mcpServers": {"s": server},
    }
    (found,) = parse_agents_file(json.dumps(file).encode(), home=tmp_path).problems
    assert (found.severity, "has no effect" in found.message) == ("warning", True)
