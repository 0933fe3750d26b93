"""Both ids of a chat that has a new one work in agents.json; the first one is outdated."""

import json

from fakes.carrier import CarrierChannel

from orchestrator.agentsfile.loading import LoadedConfig, parse_agents_file

MOVED = {"carrier": {"-1009": "-9"}}


def loaded(chat_id: str) -> LoadedConfig:
    """A file that names a chat in every place, and another chat beside it."""
    agent = {
        "agentId": "work",
        "llmProvider": "demo",
        "costControls": {"notifyChannel": "carrier", "notifyChatId": chat_id},
    }
    groups = {"chats": {chat_id: {"answer": ["all"]}, "-7": {"answer": []}}}
    file = {
        "agents": [agent],
        "bindings": [
            {"channel": "carrier", "chatId": chat_id, "agentId": "work"},
            {"channel": "console", "chatId": "-9", "agentId": "work"},
            {"channel": "carrier", "chatId": "*", "agentId": "work"},
        ],
        "channels": {"carrier": {"allowlist": [5, int(chat_id)], "groups": groups}},
    }
    return parse_agents_file(json.dumps(file, indent=1).encode(), moved=MOVED)


def test_first_id_works_and_is_to_be_edited() -> None:
    """Each place has its warning, with its line and the id to write."""
    found = loaded("-9")
    assert not found.errors
    assert [binding.chat_id for binding in found.file.bindings] == ["-9", "-9", "*"]
    assert [problem.path for problem in found.problems] == [
        "agents[0].costControls.notifyChatId",
        "bindings[0].chatId",
        "channels.carrier.allowlist[1]",
        "channels.carrier.groups.chats.-9",
    ]
    for problem in found.problems:
        assert problem.message == (
            "the chat -9 has the id -1009 now; both ids work here, write -1009 so that the file"
            " names the chat as Carrier does"
        )
    assert all(problem.line for problem in found.problems)


def test_new_id_means_the_same_chat_without_a_warning() -> None:
    """The daemon knows the chat by its first id."""
    found = loaded("-1009")
    assert found.problems == ()
    assert [binding.chat_id for binding in found.file.bindings] == ["-9", "-9", "*"]
    assert found.file.channels.get_settings(CarrierChannel).allowlist == ("5", "-9")
