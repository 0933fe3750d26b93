"""The schema of agents.json, as forms read it."""

import pytest
from pydantic import JsonValue

from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import PartPath, find_part_schema

ROOT = agents_schema.load_schema()


@pytest.mark.parametrize(
    ("path", "title"),
    [
        (("agents", 0), "AgentDefinition"),
        (("agents", 3, "budget"), "Budget"),
        (("mcpServers", "wiki"), "McpServer"),
        (("channels", "telegram"), "TelegramChannel"),
        (("channels", "slack"), "HostedSettings"),
        (("channels", "telegram", "accounts", "second"), "TelegramChannel"),
        (("channels", "hook", "incoming", "github"), "IncomingHook"),
    ],
)
def test_each_part_of_the_file_has_its_schema(path: PartPath, title: str) -> None:
    """References and choices with null are followed; an account has the fields of its channel."""
    found = find_part_schema(ROOT, path)
    assert found is not None
    assert found["title"] == title


def test_a_place_that_the_file_cannot_have_has_no_schema() -> None:
    """So an address that someone made up shows no form."""
    assert find_part_schema(ROOT, ("agents", 0, "nothing", "here")) is None
    assert find_part_schema(ROOT, ("nothing",)) is None


def test_paths_in_addresses_come_back_as_they_were() -> None:
    """A price is named after a provider and a model, with a slash between them."""
    path: PartPath = ("prices", "groq/qwen", 0)
    assert agents_schema.parse_path(agents_schema.format_path(path)) == path


def test_every_key_of_the_file_is_explained() -> None:
    """The editor shows what the key at the cursor means."""
    found = agents_schema.list_key_help(ROOT)
    assert "provider" in found["agents/*/model"]
    assert "jail" in found["mcpServers/*/sandbox"]
    assert found["channels/telegram/access"]


def test_the_value_of_a_missing_part_is_none() -> None:
    """Names, positions and anything else that leads nowhere."""
    value: JsonValue = {"agents": [{"agentId": "home"}]}
    assert agents_schema.find_value(value, ("agents", 0, "agentId")) == "home"
    assert agents_schema.find_value(value, ("agents", 1, "agentId")) is None
    assert agents_schema.find_value(value, ("agents", "agentId")) is None
