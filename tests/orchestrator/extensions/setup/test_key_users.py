"""What uses each key, as agents.json says."""

import json

from pydantic import JsonValue

from orchestrator.agentsfile import parse_agents_file
from orchestrator.extensions.setup.key_users import find_key_users

DOCUMENT: JsonValue = {
    "agents": [
        {
            "agentId": "work",
            "llmProvider": "openai",
            "model": "m",
            "env": {"OPENAI_API_KEY": "${WORK_KEY}"},
        },
        {"agentId": "home", "llmProvider": "groq", "model": "m"},
    ],
    "mcpServers": {"wiki": {"command": "wiki", "env": {"TOKEN": "${WIKI_TOKEN}", "LIT": "$${NO}"}}},
    "channels": {"telegram": {"accounts": {"work": {}}}},
}


def test_each_key_has_its_users() -> None:
    """Named ones, and the usual ones of providers and channels; an escaped name does not count."""
    environ = {"WORK_KEY": "w", "WIKI_TOKEN": "t"}
    file = parse_agents_file(json.dumps(DOCUMENT).encode(), environ=environ).file
    users = find_key_users(DOCUMENT, file, environ)
    assert users["WORK_KEY"] == ("agent work",)
    assert users["GROQ_API_KEY"] == ("agent home",)
    assert users["WIKI_TOKEN"] == ("MCP server wiki",)
    assert users["TELEGRAM_BOT_TOKEN_WORK"] == ("channel telegram@work",)
    assert "NO" not in users


def test_file_of_another_shape_has_no_users() -> None:
    """A text that is being edited may be anything."""
    file = parse_agents_file(b'{"agents": [{"agentId": "a", "llmProvider": "demo"}]}').file
    documents: list[JsonValue] = [None, [], {"agents": {}}, {"agents": [1]}, {"channels": []}]
    for document in documents:
        assert not find_key_users(document, file, {}).keys() - {"TELEGRAM_BOT_TOKEN"}
