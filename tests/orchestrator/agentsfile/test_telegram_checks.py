"""An address that Telegram cannot push to is an error with what to do."""

import json
from typing import Any

import pytest

from orchestrator.agentsfile.loading import LoadedConfig, parse

OWN = {"TELEGRAM_API_URL": "http://127.0.0.1:8081"}


def loaded(url: Any, environ: dict[str, str] | None = None, **channels: Any) -> LoadedConfig:
    """A file with this address; a line for each part."""
    file = {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"webhook": {"url": url}}, **channels},
    }
    keys = {"TELEGRAM_BOT_TOKEN": "1:x", **(environ or {})}
    return parse(json.dumps(file, indent=1).encode(), environ=keys)


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
    assert found.file.channels.telegram.webhook_url == url
    assert found.file.channels.reached


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
    assert not found.file.channels.telegram.enabled


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
    assert not found.file.channels.telegram.enabled


def test_address_without_endpoints_behind_it_is_a_warning() -> None:
    """Nothing would take what Telegram pushes."""
    (problem,) = loaded("https://bots.example.org", api={"enabled": False}).problems
    assert (problem.severity, problem.path) == ("warning", "channels.telegram.webhook")
    assert "channels.api, which takes what it pushes, is off" in problem.message


def test_channel_that_is_off_is_not_looked_at() -> None:
    """It opens nothing either."""
    off = {"enabled": False, "webhook": {"url": "http://bots.example.org:5/"}}
    found = loaded("", telegram=off)
    assert found.errors == ()
    assert not found.file.channels.reached
