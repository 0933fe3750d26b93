"""Small agents.json files for tests."""

import json
from typing import Any

from orchestrator.agentsfile import LoadedConfig, parse

WORK = {"agentId": "work", "model": "m"}


def parsed(*agents: dict[str, Any], **rest: Any) -> LoadedConfig:
    """A file with these agents (all bound to telegram chats of their own) and top-level fields."""
    bindings = [
        {"channel": "telegram", "chatId": str(number), "agentId": agent["agentId"]}
        for number, agent in enumerate(agents)
    ]
    return parse(json.dumps({"agents": agents, "bindings": bindings} | rest).encode())
