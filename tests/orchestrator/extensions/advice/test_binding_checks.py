"""Bindings that never apply, or not as they seem to, are told."""

import json
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import LoadedConfig, parse_agents_file

HOME = {**WORK, "agentId": "home", "asTool": "handoff"}


def messages(loaded: LoadedConfig) -> list[str]:
    """The warnings about a file without errors."""
    assert not loaded.errors
    return [problem.message for problem in loaded.problems]


def binding(channel: str, chat: str, agent: str = "work", **more: str) -> dict[str, str]:
    """A binding."""
    return {"channel": channel, "chatId": chat, "agentId": agent, **more}


def test_binding_without_effect_is_warned_about() -> None:
    """A repeated place, a disabled agent, a partial wildcard."""
    off = {"agentId": "off", "model": "m", "enabled": False}
    bindings = [
        {"channel": "carrier", "chatId": "1", "agentId": "work"},
        {"channel": "carrier", "chatId": "1", "agentId": "work"},
        {"channel": "carrier", "chatId": "2", "agentId": "off"},
        {"channel": "carrier", "chatId": "3*", "agentId": "work"},
        {"channel": "console", "chatId": "4", "agentId": "work"},
    ]
    loaded = parsed(WORK, off, bindings=bindings)
    assert not loaded.errors
    words = ("never applies", "disabled agent", "matches no chat")
    found = messages(loaded)
    assert len(found) == 3
    assert all(any(word in message for message in found) for word in words)


@pytest.mark.parametrize(
    ("first", "second", "warned"),
    [
        (binding("carrier", "*"), binding("carrier", "42", "home"), True),
        (binding("carrier", "42"), binding("carrier", "42", "home", threadId="7"), True),
        (binding("carrier", "42"), binding("carrier", "*", "home"), False),
        (binding("carrier", "*"), binding("carrier", "42"), False),
        (binding("carrier", "*"), binding("console", "42", "home"), False),
        (binding("carrier", "42", threadId="7"), binding("carrier", "42", "home"), False),
        (binding("carrier", "43"), binding("carrier", "42", "home", threadId="7"), False),
    ],
)
def test_binding_that_beats_an_earlier_broader_one_is_told(
    first: dict[str, str], second: dict[str, str], *, warned: bool
) -> None:
    """Where the first and the most specific one name different agents."""
    said = messages(parsed(WORK, HOME, bindings=[first, second]))
    assert any("the most specific one applies and not the first" in m for m in said) is warned
    assert len(said) == warned


def places(chat: str, carrier: dict[str, Any]) -> list[str]:
    """Where a file is told that there is no such chat, which it binds and writes to."""
    agent = {**WORK, "costControls": {"notifyChannel": "carrier", "notifyChatId": chat}}
    file = {
        "agents": [agent],
        "bindings": [{"channel": "carrier", "chatId": chat, "agentId": "work"}],
        "channels": {"carrier": carrier},
    }
    loaded = parse_agents_file(json.dumps(file).encode())
    assert not loaded.errors
    said = f'no chat of Carrier is called "{chat}", so this has no effect; write its id, as'
    return sorted(problem.path for problem in loaded.problems if said in problem.message)


SENDS = ["agents[0].costControls.notifyChatId"]
BINDS = ["bindings[0].chatId"]


@pytest.mark.parametrize(
    ("chat", "wrong"),
    [
        ("ann", [*SENDS, *BINDS]),
        ("@a", [*SENDS, *BINDS]),
        ("@news_of_ann", BINDS),
        ("-1005", []),
        ("5", []),
    ],
)
def test_id_of_no_chat_is_told_at_its_place(chat: str, wrong: list[str]) -> None:
    """A public name can be written to; what comes in has a number."""
    assert places(chat, {}) == sorted(wrong)


def test_binding_of_a_channel_that_is_off_has_only_that_warning() -> None:
    """An id there matters when it is on again."""
    assert places("ann", {"enabled": False}) == SENDS
