"""Both ids of a group that became a supergroup work in agents.json; the first one is outdated."""

import json

from orchestrator.agentsfile.loading import LoadedConfig, parse

MOVED = {"-1009": "-9"}


def loaded(chat_id: str) -> LoadedConfig:
    """A file that names a chat in every place, and another chat beside it."""
    agent = {
        "agentId": "work",
        "llmProvider": "demo",
        "costControls": {"notifyChannel": "telegram", "notifyChatId": chat_id},
    }
    groups = {"chats": {chat_id: {"answer": ["all"]}, "-7": {"answer": []}}}
    file = {
        "agents": [agent],
        "bindings": [
            {"channel": "telegram", "chatId": chat_id, "agentId": "work"},
            {"channel": "console", "chatId": "-9", "agentId": "work"},
            {"channel": "telegram", "chatId": "*", "agentId": "work"},
        ],
        "channels": {"telegram": {"allowlist": [5, int(chat_id)], "groups": groups}},
    }
    return parse(json.dumps(file, indent=1).encode(), moved=MOVED)


def test_first_id_works_and_is_to_be_edited() -> None:
    """Each place has its warning, with its line and the id to write."""
    found = loaded("-9")
    assert not found.errors
    assert [binding.chat_id for binding in found.file.bindings] == ["-9", "-9", "*"]
    assert [problem.path for problem in found.problems] == [
        "agents[0].costControls.notifyChatId",
        "bindings[0].chatId",
        "channels.telegram.allowlist[1]",
        "channels.telegram.groups.chats.-9",
    ]
    assert all("write -1009" in problem.message for problem in found.problems)
    assert all(problem.line for problem in found.problems)


def test_new_id_means_the_same_chat_without_a_warning() -> None:
    """The daemon knows the chat by its first id."""
    found = loaded("-1009")
    assert found.problems == ()
    assert [binding.chat_id for binding in found.file.bindings] == ["-9", "-9", "*"]
    assert found.file.channels.telegram.allowlist == ("5", "-9")
