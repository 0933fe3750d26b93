"""Ids that no chat of Telegram has are told, wherever agents.json names one."""

import json
from typing import Any

import pytest

from orchestrator.agentsfile import parse

WORK = {"agentId": "work", "llmProvider": "demo"}
HOOK = {"agentId": "work", "secret": "0123456789abcdef"}


def places(chat: str, telegram: dict[str, Any]) -> list[str]:
    """Where a file is told that there is no such chat, which it binds and writes to."""
    agent = {**WORK, "costControls": {"notifyChannel": "telegram", "notifyChatId": chat}}
    incoming = {"gh": {**HOOK, "notifyChat": f"telegram:{chat}"}}
    file = {
        "agents": [agent],
        "bindings": [{"channel": "telegram", "chatId": chat, "agentId": "work"}],
        "channels": {"hook": {"incoming": incoming}, "telegram": telegram},
    }
    loaded = parse(json.dumps(file).encode())
    assert not loaded.errors
    said = f'no chat of Telegram is called "{chat}", so this has no effect; write its id, as'
    return sorted(problem.path for problem in loaded.problems if said in problem.message)


SENDS = ["agents[0].costControls.notifyChatId", "channels.hook.incoming.gh.notifyChat"]
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
