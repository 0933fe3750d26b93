"""Channels that are off, and chats that cannot exist, are told."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK
from fakes.installed_extensions import install_extensions
from fakes.pigeon import write_pigeon_folder

from orchestrator.agentsfile import AgentsFileError, load_agents_file, parse_agents_file
from orchestrator.extensions.advice.extension import AdviceExtension

SECTION = {"loft": "https://m.example", "ring": "bot-1"}
KEYS = {"PIGEON_TOKEN": "t"}


@pytest.fixture(autouse=True)
def pigeon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel host with pigeons."""
    install_extensions(
        monkeypatch, own=(AdviceExtension(),), channels={"pigeon": write_pigeon_folder(tmp_path)}
    )


def problems(
    folder: Path, section: Any, environ: dict[str, str], *bindings: str, chat: str = "*"
) -> list[str]:
    """All problems of a file with this section of Matrix."""
    path = folder / "agents.json"
    document = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "bindings": [
            {"channel": name, "chatId": chat if name in bindings else "*", "agentId": "a"}
            for name in ("console", *bindings)
        ],
        "channels": {} if section is None else {"pigeon": section},
    }
    path.write_text(json.dumps(document, indent=1))
    try:
        found = load_agents_file(path, environ)
    except AgentsFileError as error:
        return [str(problem) for problem in error.problems]
    return [str(problem) for problem in found.problems]


def test_binding_to_a_channel_that_is_off_is_told() -> None:
    """With the line of the binding."""
    bindings = [{"channel": "console", "chatId": "*", "agentId": "work"}]
    off = {"console": {"enabled": False}}
    file = {"agents": [WORK], "bindings": bindings, "channels": off}
    (problem,) = parse_agents_file(json.dumps(file, indent=1).encode()).problems
    assert problem.message.startswith(
        "channel 'console' is off, so no message comes by the binding in line 9;"
    )


@pytest.mark.parametrize("groups", [{"patterns": ["("]}, {"answer": "all"}])
def test_a_wrong_channel_is_not_said_to_be_off_as_well(tmp_path: Path, groups: Any) -> None:
    """To switch it on would change nothing."""
    (found,) = problems(tmp_path, {**SECTION, "groups": groups}, KEYS, "pigeon")
    assert '"groups.' in found
    (off,) = problems(tmp_path, {**SECTION, "enabled": False}, KEYS, "pigeon")
    assert "channel 'pigeon' is off" in off


def test_a_chat_that_cannot_be_is_a_warning(tmp_path: Path) -> None:
    """In the rules for groups and in a binding: neither would ever count."""
    groups = {"chats": {"#market": {"answer": ["all"]}, "roof-1": {"answer": []}}}
    (found,) = problems(tmp_path, {**SECTION, "groups": groups}, KEYS)
    assert 'no chat of Pigeon is called "#market"' in found
    assert "write its id, as orchestrator status shows it" in found
    (bound,) = problems(tmp_path, SECTION, KEYS, "pigeon", chat="ann")
    assert 'no chat of Pigeon is called "ann"' in bound
    assert problems(tmp_path, SECTION, KEYS, "pigeon", chat="ann-7") == []


def test_alerts_may_go_to_it(tmp_path: Path) -> None:
    """It is known, and missed if it has no section."""
    controls = {"notifyChannel": "pigeon", "notifyChatId": "ann-7"}
    document: dict[str, Any] = {
        "agents": [{"agentId": "a", "llmProvider": "demo", "costControls": controls}],
        "fallbackAgentId": "a",
        "channels": {"pigeon": SECTION},
    }
    path = tmp_path / "agents.json"
    path.write_text(json.dumps(document))
    assert not load_agents_file(path, KEYS).problems
    controls["notifyChatId"] = "ann"
    path.write_text(json.dumps(document))
    (found,) = load_agents_file(path, KEYS).problems
    assert 'no chat of Pigeon is called "ann"' in found.message
    controls["notifyChatId"] = "ann-7"
    del document["channels"]["pigeon"]
    path.write_text(json.dumps(document))
    (found,) = load_agents_file(path, KEYS).problems
    assert "agent 'a' sends alerts to pigeon, but there is no channels.pigeon" in found.message
