"""A bot that hears nothing is told; an address that Telegram cannot push to is an error."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import validate_file

from orchestrator.agentsfile.loading import LoadedConfig, parse_agents_file
from orchestrator.extensions.telegram.telegram_checks import list_telegram_findings
from orchestrator.extensions.telegram.telegram_settings import TelegramChannel
from orchestrator.settings import Settings

HOME = {"agentId": "home", "llmProvider": "demo", "asTool": "handoff"}
OWN = {"TELEGRAM_API_URL": "http://127.0.0.1:8081"}


def loaded(url: Any, environ: dict[str, str] | None = None, **channels: Any) -> LoadedConfig:
    """A file with this address; a line for each part."""
    file = {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"webhook": {"url": url}}, **channels},
    }
    keys = {"TELEGRAM_BOT_TOKEN": "1:x", **(environ or {})}
    return parse_agents_file(json.dumps(file, indent=1).encode(), environ=keys)


@pytest.mark.parametrize(
    "url",
    [
        "https://bots.example.org",
        "https://bots.example.org/telegram",
        "https://bots.example.org:443/",
        "https://bots.example.org:80/",
        "https://bots.example.org:88/",
        "https://bots.example.org:8443/",
        "https://203.0.113.7/telegram",
    ],
)
def test_address_that_telegram_calls_is_taken(url: str) -> None:
    """With a name or a number, and any path."""
    found = loaded(url)
    assert found.problems == ()
    assert found.file.channels.get_settings(TelegramChannel).webhook_url == url
    assert found.file.channels.is_publicly_reachable


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://bots.example.org/telegram", "calls only https; write https://…"),
        (
            "https://bots.example.org:8484/telegram",
            (
                "has port 8484, but Telegram calls only 443, 80, 88 and 8443; let the proxy"
                " listen on one of them"
            ),
        ),
    ],
)
@pytest.mark.parametrize("server", [{}, {"TELEGRAM_API_URL": "https://api.telegram.org/"}])
def test_address_that_telegram_does_not_call_closes_the_channel(
    url: str, words: str, server: dict[str, str]
) -> None:
    """One message says it, with the line."""
    found = loaded(url, server)
    (problem,) = found.problems
    assert (problem.severity, problem.path) == ("error", "channels.telegram.webhook.url")
    assert problem.line > 0
    assert words in problem.message
    assert problem.message.startswith("channel 'telegram': \"webhook\" has ")
    assert not found.file.channels.get_settings(TelegramChannel).enabled


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8484/telegram", "https://bots.example.org:9000/", "http://daemon:80/"]
)
def test_server_of_your_own_calls_every_address(url: str) -> None:
    """TELEGRAM_API_URL names it."""
    assert loaded(url, OWN).problems == ()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "must be an http or https URL"),
        (5, "url"),
        (None, "url"),
        ("bots.example.org", "must be an http or https URL"),
        ("ftp://bots.example.org", "must be an http or https URL"),
        ("https://", "must be an http or https URL"),
        ("https://bots.example.org:0/", "must be an http or https URL"),
        ("https://bots.example.org:99999/", "must be an http or https URL"),
        ("https://bots.example.org/a b", "must be an http or https URL"),
        ("https://user:key@bots.example.org/", "must not hold a user name or password"),
    ],
)
def test_what_is_no_address_is_an_error(url: Any, words: str) -> None:
    """The channel is closed, and the others go on."""
    found = loaded(url)
    assert [problem.path for problem in found.errors] == ["channels.telegram.webhook.url"]
    assert words in found.errors[0].message
    assert not found.file.channels.get_settings(TelegramChannel).enabled


def test_address_without_endpoints_behind_it_is_a_warning() -> None:
    """Nothing would take what Telegram pushes."""
    (problem,) = loaded("https://bots.example.org", api={"enabled": False}).problems
    assert (problem.severity, problem.path) == ("warning", "channels.telegram.webhook")
    assert "channels.api, which receives its updates, is off" in problem.message


def test_channel_that_is_off_is_not_looked_at() -> None:
    """It opens nothing either."""
    off = {"enabled": False, "webhook": {"url": "http://bots.example.org:5/"}}
    found = loaded("", telegram=off)
    assert found.errors == ()
    assert not found.file.channels.is_publicly_reachable


def told_of(environ: dict[str, str], **parts: object) -> list[str]:
    """The warnings about a file with an agent and these parts."""
    file = {"agents": [{"agentId": "work", "llmProvider": "demo", "asTool": "handoff"}], **parts}
    found = parse_agents_file(json.dumps(file).encode(), environ=environ, home=Path("/h"))
    assert not found.errors
    return [problem.message for problem in found.problems]


def binding(channel: str) -> dict[str, str]:
    """A binding of every chat."""
    return {"channel": channel, "chatId": "*", "agentId": "work"}


def test_telegram_without_a_token_is_told() -> None:
    """Only where a binding wants it, and the channel is on."""
    (message,) = told_of({}, bindings=[binding("console"), binding("telegram")])
    assert message == (
        "Telegram is off: TELEGRAM_BOT_TOKEN is not set;"
        " put TELEGRAM_BOT_TOKEN=… into /h/keys.env and run: orchestrator reload"
    )
    assert told_of({}, bindings=[binding("console")]) == []
    assert told_of({"TELEGRAM_BOT_TOKEN": "1:x"}, bindings=[binding("telegram")]) == []


def test_token_for_a_file_of_keys_that_is_there_needs_no_reload(tmp_path: Path) -> None:
    """The daemon takes it over when the file is written."""
    (tmp_path / "keys.env").touch()
    agent = {"agentId": "work", "llmProvider": "demo"}
    file = {"agents": [agent], "channels": {"telegram": {"accounts": {"home": {}}}}}
    found = parse_agents_file(json.dumps(file).encode(), environ={}, home=tmp_path)
    (message,) = (one.message for one in found.problems if "is off" in one.message)
    assert message.startswith("Telegram (telegram@home) is off: TELEGRAM_BOT_TOKEN_HOME is not set")
    assert message.endswith(f"put TELEGRAM_BOT_TOKEN_HOME=… into {tmp_path}/keys.env")


def test_bot_that_nothing_answers_is_told() -> None:
    """A fallback answers; without the channel there is no bot."""
    token = {"TELEGRAM_BOT_TOKEN": "1:x"}
    (message,) = told_of(token, bindings=[binding("console")])
    assert "no binding leads from Telegram to an agent, so every message is refused" in message
    assert "1:x" not in message
    assert told_of(token, fallbackAgentId="work") == []
    broken = {"agents": [{"agentId": "work"}, HOME], "fallbackAgentId": "work"}
    problems = parse_agents_file(json.dumps(broken).encode(), environ=token).problems
    assert not any("every message is" in problem.message for problem in problems)
    assert told_of(token, channels={"telegram": {"enabled": False}}) == []


@pytest.mark.parametrize(
    ("chat_id", "words"),
    [
        ("5", "which is a person's id"),
        ("@ops", "which is not a numeric id; write the negative number that orchestrator status"),
    ],
)
def test_rules_for_what_is_no_group_are_told(chat_id: str, words: str) -> None:
    """Groups have negative numbers."""
    assert TelegramChannel().check_group_id("-100123") is None
    channels: dict[str, Any] = {"telegram": {"groups": {"chats": {chat_id: {}}}}}
    (message,) = told_of({}, bindings=[binding("console")], channels=channels)
    assert words in message


@pytest.mark.parametrize(
    ("chat_id", "comes", "goes"),
    [("-1005", True, True), ("5", True, True), ("@news", False, True), ("ann", False, False)],
)
def test_public_name_can_be_written_to(chat_id: str, *, comes: bool, goes: bool) -> None:
    """What comes in has a number."""
    assert TelegramChannel.is_chat_id(chat_id) is comes
    assert TelegramChannel.is_chat_id(chat_id, written_to=True) is goes


@pytest.mark.parametrize(("channel", "verdict"), [("telegram", "warning"), ("console", "ok")])
def test_bot_without_a_token_is_off(tmp_path: Path, channel: str, verdict: str) -> None:
    """That is a warning only if a binding leads to an agent."""
    agent = {"agentId": "work", "llmProvider": "demo"}
    binding = {"channel": channel, "chatId": "*", "agentId": "work"}
    file = validate_file({"agents": [agent], "bindings": [binding]})
    (found,) = list_telegram_findings(Settings(home=tmp_path), file)
    assert found == ("channel telegram", "off: TELEGRAM_BOT_TOKEN is not set", verdict)
