"""Small agents.json files for tests."""

import json
from typing import Any

from orchestrator.agentsfile import AgentsFile, LoadedConfig, parse_agents_file
from orchestrator.agentsfile.agents_file import ExtensionSettings
from orchestrator.agentsfile.mounting import build_file_model

WORK = {"agentId": "work", "model": "m"}


def parsed(*agents: dict[str, Any], **rest: Any) -> LoadedConfig:
    """A file with these agents (all bound to chats of the console) and top-level fields."""
    bindings = [
        {"channel": "console", "chatId": str(number), "agentId": agent["agentId"]}
        for number, agent in enumerate(agents)
    ]
    return parse_agents_file(json.dumps({"agents": agents, "bindings": bindings} | rest).encode())


def validate_file(document: dict[str, Any]) -> AgentsFile:
    """A file without any check across its parts; names of fields are those of Python or JSON."""
    settings = document.get("extensions")
    if isinstance(settings, ExtensionSettings):  # as read from a file, without a class of its own
        document = {**document, "extensions": dict(settings)}
    return build_file_model().model_validate(document)
