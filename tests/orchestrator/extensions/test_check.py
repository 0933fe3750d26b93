"""`orchestrator check` of what extensions add to agents.json."""

import json
from pathlib import Path

import pytest
from fakes.control_server import command

AGENTS = [
    {"agentId": "work", "llmProvider": "demo"},
    {"agentId": "home", "llmProvider": "demo"},
]
BINDINGS = [
    {"channel": "telegram", "chatId": "123", "agentId": "work"},
    {"channel": "telegram", "chatId": "9", "threadId": "7", "agentId": "work"},
    {"channel": "telegram", "chatId": "*", "agentId": "home"},
]


@pytest.fixture(autouse=True)
def _bot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token for the bindings above."""
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "1:x")


def write(folder: Path, **fields: object) -> Path:
    """An agents.json with the agents and bindings above, changed by ``fields``."""
    path = folder / "agents.json"
    path.write_text(json.dumps({"agents": AGENTS, "bindings": BINDINGS} | fields), "utf-8")
    return path


def test_bundled_file_is_sound(tmp_path: Path) -> None:
    """What a fresh home runs on."""
    checked = command(tmp_path, "check")
    assert (checked.exit_code, checked.stdout[-10:]) == (0, "no errors\n")


def test_telegram_without_a_token_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is that of the first binding, the file the one that holds keys."""
    monkeypatch.delenv("TELEGRAM_BOT_TOKEN")
    write(tmp_path)
    told, summary = command(tmp_path, "check").stdout.splitlines()
    assert told == (
        "agents.json:1: warning: Telegram is off: TELEGRAM_BOT_TOKEN is not"
        f" set; put TELEGRAM_BOT_TOKEN=… into {tmp_path}/keys.env and run: orchestrator reload"
    )
    assert summary.endswith("no errors, 1 warning")


def test_warning_alone_is_no_failure(tmp_path: Path) -> None:
    """An address that seems to be of the older transport gets a warning."""
    path = write(tmp_path, mcpServers={"old": {"url": "http://h/sse"}})
    checked = command(tmp_path, "check", str(path))
    assert checked.exit_code == 0
    assert checked.stdout.splitlines()[-1].endswith("no errors, 1 warning")


def test_secrets_of_tool_servers_count_too(tmp_path: Path) -> None:
    """In their environment and in headers."""
    server = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer x"}}
    write(tmp_path, mcpServers={"one": server, "two": {"command": "true", "env": {"KEY": "x"}}})
    (tmp_path / "agents.json").chmod(0o644)
    shown = command(tmp_path, "check").stdout
    assert "(headers of MCP server 'one', env of MCP server 'two')" in shown


def test_fallback_of_nearly_a_providers_name_gets_a_warning(tmp_path: Path) -> None:
    """Vendors' names before a slash are usual, and get none."""
    models = ["groqq/x", "mistralai/y", "groq/z"]
    agents = [{"agentId": "home", "llmProvider": "demo", "fallbackModels": models}]
    write(tmp_path, agents=agents, bindings=[])
    told = command(tmp_path, "check").stdout
    assert told.count("did you mean the provider") == 1
    assert '"groqq/x" for a model of demo; did you mean the provider "groq"?' in told


def test_key_of_a_model_is_missed_until_the_file_of_keys_has_it(tmp_path: Path) -> None:
    """No value is shown."""
    write(tmp_path, agents=[AGENTS[1], {"agentId": "work", "llmProvider": "groq", "model": "m"}])
    assert "GROQ_API_KEY is not set" in command(tmp_path, "check").stdout
    keys = tmp_path / "keys.env"
    keys.write_text("GROQ_API_KEY=canary\n", "utf-8")
    keys.chmod(0o600)
    assert command(tmp_path, "check").stdout.endswith("no errors\n")
