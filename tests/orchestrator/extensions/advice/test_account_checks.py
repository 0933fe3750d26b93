"""Secrets of accounts that agents.json does not have are told."""

import json
from pathlib import Path

import pytest
from fakes.installed_extensions import install_extensions
from fakes.pigeon import write_pigeon_folder

from orchestrator.agentsfile import parse_agents_file
from orchestrator.extensions.advice.extension import AdviceExtension


@pytest.fixture(autouse=True)
def pigeon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel host with pigeons."""
    install_extensions(
        monkeypatch, own=(AdviceExtension(),), channels={"pigeon": write_pigeon_folder(tmp_path)}
    )


def told(environ: dict[str, str]) -> list[str]:
    """What is said of variables, in a file with one account."""
    document = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "bindings": [{"channel": "pigeon", "account": "work", "chatId": "*", "agentId": "a"}],
        "channels": {"pigeon": {"loft": "https://m", "accounts": {"work": {"ring": "bot-2"}}}},
    }
    found = parse_agents_file(json.dumps(document).encode(), environ=environ)
    return [problem.message for problem in found.problems]


def test_secret_of_no_account_is_told_with_the_near_name() -> None:
    """A misspelt variable would be ignored in silence; one of an unused channel, too."""
    keys = {"PIGEON_TOKEN_WORK": "second"}
    assert told(keys) == []
    wrong = {"PIGEON_TOKEN_WROK": "third", "TELEGRAM_BOT_TOKEN_WORK": "1:a", "PIGEON_TOKEN_X": ""}
    assert told(keys | wrong) == [
        (
            "TELEGRAM_BOT_TOKEN_WORK has no effect: channels.telegram has no account 'work';"
            " add it there, or remove the variable"
        ),
        (
            "PIGEON_TOKEN_WROK has no effect: channels.pigeon has no account 'wrok';"
            ' did you mean "work"?'
        ),
    ]


def test_two_accounts_of_one_bot_are_an_error() -> None:
    """They would take each other's messages; the first one stays on. Two boxes may share a word."""
    keys = {"PIGEON_TOKEN": "same", "PIGEON_TOKEN_WORK": "same"}
    for own, wrong in (({}, True), ({"ring": "bot-2"}, False)):
        section = {"loft": "https://m", "ring": "bot-1", "accounts": {"work": own}}
        document = {
            "agents": [{"agentId": "a", "llmProvider": "demo"}],
            "bindings": [
                {"channel": "pigeon", "chatId": "*", "agentId": "a"},
                {"channel": "pigeon", "account": "work", "chatId": "*", "agentId": "a"},
            ],
            "channels": {"pigeon": section},
        }
        found = parse_agents_file(json.dumps(document).encode(), environ=keys)
        text = "channel 'pigeon@work': PIGEON_TOKEN_WORK is that of channel 'pigeon'"
        assert any(text in problem.message for problem in found.errors) is wrong
        assert found.file.channels.is_on("pigeon@work") is not wrong
        assert found.file.channels.is_on("pigeon")
