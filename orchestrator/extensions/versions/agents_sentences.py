"""Say in sentences what a changed agents.json changes.

Where: is it said what an edit of agents.json does?
"""

from collections.abc import Iterator

import orjson

from orchestrator.extensions.versions.agent_sentences import describe_agent, describe_new_agent
from orchestrator.extensions.versions.binding_sentences import describe_bindings
from orchestrator.extensions.versions.field_sentences import (
    describe_difference,
    describe_fields,
    read_object,
)
from orchestrator.extensions.versions.server_sentences import describe_servers
from orchestrator.extensions.versions.text_sentences import describe_text
from thinker.protocol.messages import JsonObject

ELSEWHERE = frozenset({"$schema", "agents", "bindings", "fallbackAgentId", "mcpServers"})


def describe_agents_change(old: str | None, new: str | None) -> list[str]:
    """Return a sentence for each change; values of fields for secrets are never shown."""
    before, after = _parse_file(old), _parse_file(new)
    if before is None or after is None:
        return describe_text("agents.json", old, new)
    return list(_iter_sentences(before, after))


def _parse_file(text: str | None) -> JsonObject | None:
    """Return the file as JSON, empty without a text; None if it is no JSON object."""
    if text is None:
        return {}
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _iter_sentences(before: JsonObject, after: JsonObject) -> Iterator[str]:
    yield from _describe_agents(before, after)
    yield from describe_bindings(before, after)
    yield from describe_servers(
        read_object(before.get("mcpServers")), read_object(after.get("mcpServers"))
    )
    old = {key: value for key, value in before.items() if key not in ELSEWHERE}
    new = {key: value for key, value in after.items() if key not in ELSEWHERE}
    yield from describe_fields("", old, new)


def _describe_agents(before: JsonObject, after: JsonObject) -> Iterator[str]:
    old, new = _index_agents(before), _index_agents(after)
    for agent_id, fields in new.items():
        if agent_id not in old:
            yield describe_new_agent(agent_id, fields)
        elif fields != old[agent_id]:
            yield from describe_agent(agent_id, old[agent_id], fields)
    for agent_id in old.keys() - new.keys():
        yield (
            f"agent {agent_id} is removed: it answers nothing more; its conversations and its"
            f" memory stay until: orchestrator forget agent {agent_id}"
        )
    if [*old] != [*new] and old.keys() == new.keys():
        yield describe_difference("the order of the agents", "", "")


def _index_agents(file: JsonObject) -> dict[str, JsonObject]:
    """Return the agents that are objects, by their ids; the first of the same id counts."""
    items = file.get("agents")
    found: dict[str, JsonObject] = {}
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            found.setdefault(str(item.get("agentId", number + 1)), item)
    return found
