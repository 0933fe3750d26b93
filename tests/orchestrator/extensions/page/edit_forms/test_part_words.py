"""Words for the parts of agents.json."""

import json

import pytest
from pydantic import JsonValue

from orchestrator.extensions.page.edit_forms import part_words
from orchestrator.extensions.page.edit_forms.agents_schema import PartPath


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        (("agents", 0), {"agentId": "home"}, "Agent home"),
        (
            ("bindings", 1),
            {"channel": "telegram", "chatId": 9, "agentId": "home"},
            "Binding telegram:9 to home",
        ),
        (("mcpServers", "wiki"), {}, "Tool server wiki"),
        (("channels", "web"), None, "This page"),
        (("channels", "telegram"), None, "Telegram"),
    ],
)
def test_each_part_has_a_name_for_people(path: PartPath, value: JsonValue, name: str) -> None:
    """As the title of its form."""
    assert part_words.name_part(path, value) == name


def test_new_parts_say_what_they_will_be() -> None:
    """An agent, a tool server."""
    assert part_words.name_new_part(("agents", 2)) == "Add an agent"
    assert part_words.name_new_part(("mcpServers",)) == "Add a tool server"


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({"command": "a"}, "runs jailed, with network. It also writes its own folder"),
        ({"command": "a", "sandbox": {"read": ["/srv/wiki"]}}, "reading /srv/wiki. "),
        ({"command": "a", "sandbox": {"sockets": True}}, "with sockets of this machine. "),
        ({"command": "a", "sandbox": "off"}, "without a jail"),
        ({"url": "https://a.example"}, "elsewhere"),
    ],
)
def test_a_servers_jail_is_told_in_words(server: JsonValue, words: str) -> None:
    """Before it is saved one knows what its program can reach."""
    assert words in part_words.describe_jail({"title": "McpServer"}, server)
    assert part_words.describe_jail({"title": "AgentDefinition"}, server) == ""


def test_line_of_the_file_is_named_by_its_part_and_field() -> None:
    """As the form calls them; a line where nothing begins has no name."""
    text = json.dumps(
        {
            "agents": [{"agentId": "home", "approvals": ["a"], "maxSteps": 3}],
            "prices": {"openai/x": {"input": 1}},
            "channels": {"telegram": {"access": "open"}},
        },
        indent=1,
    )
    names = [part_words.name_line(text, number + 1) for number in range(text.count("\n") + 1)]
    assert [name for name in names if name] == [
        "Agents",
        "Agent home",
        "Agent home, Name",
        "Agent home, Tools that ask first",
        "Agent home, Tools that ask first",
        "Agent home, Most steps",
        "Prices",
        "Price openai/x",
        "Price openai/x, Input",
        "Channels",
        "Telegram",
        "Telegram, Who may write",
    ]
    assert part_words.name_line("{", 1) == part_words.name_line(text, 99) == ""
