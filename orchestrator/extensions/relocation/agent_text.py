"""An agent's part of agents.json, taken from one text and put into another."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from orchestrator.agentsfile.positions import parse_json_document
from orchestrator.agentsfile.text_edits import remove_value, replace_value
from orchestrator.errors import ConfigError, UnknownNameError

SCHEMA = "$schema"
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class AgentText:
    """What agents.json says of an agent alone.

    ``sections`` are values by their place: channels of its bindings, its own provider.
    """

    definition: JsonValue
    bindings: tuple[JsonValue, ...]
    sections: dict[Path, JsonValue]


def take_agent(text: str, agent_id: str) -> AgentText:
    """Return an agent's part of a file.

    Raises:
        UnknownNameError: the file has no such agent.
    """
    whole = _parse(text)
    found = [one for one in whole.get("agents", ()) if one.get("agentId") == agent_id]
    if not found:
        known = ", ".join(str(one.get("agentId")) for one in whole.get("agents", ()))
        raise UnknownNameError(f"no agent '{agent_id}' in agents.json; it has: {known}")
    bindings = tuple(one for one in whole.get("bindings", ()) if one.get("agentId") == agent_id)
    sections: dict[Path, JsonValue] = {}
    for binding in bindings:
        name, account = binding.get("channel"), binding.get("account")
        section = whole.get("channels", {}).get(name)
        if section is None:
            continue
        if account is None:
            sections["channels", name] = {k: v for k, v in section.items() if k != "accounts"}
        elif account in section.get("accounts", {}):
            own = {k: v for k, v in section.items() if k != "accounts"}
            sections["channels", name, "accounts", account] = own | section["accounts"][account]
    provider = found[0].get("llmProvider")
    if provider in whole.get("providers", {}):
        sections["providers", provider] = whole["providers"][provider]
    return AgentText(found[0], bindings, sections)


def list_agents(text: str) -> list[str]:
    """Return the ids of a file's agents."""
    return [str(one.get("agentId")) for one in _parse(text).get("agents", ())]


def add_agent(text: str | None, agent: AgentText) -> str:
    """Return a file with the agent; ``text`` is the present one, if any.

    Sections that the file already has stay as they are.
    """
    if text is None:
        text = json.dumps({"agents": [], "bindings": []}, indent=2) + "\n"
    whole = _parse(text)
    text = replace_value(text, ("agents", len(whole.get("agents", ()))), agent.definition)
    first = len(whole.get("bindings", ()))
    for number, binding in enumerate(agent.bindings, first):
        text = replace_value(text, ("bindings", number), binding)
    for path, value in agent.sections.items():
        if not _has_value(_parse(text), path):
            text = replace_value(text, path, value)
    return text


def remove_agent(text: str, agent_id: str) -> str:
    """Return a file without an agent, its bindings and the tests that want it to answer."""
    whole = _parse(text)
    for field in ("tests", "bindings", "agents"):
        places = [
            place
            for place, one in enumerate(whole.get(field, ()))
            if one.get("agentId") == agent_id
        ]
        for place in reversed(places):
            text = remove_value(text, (field, place))
    return text


def _has_value(whole: Any, path: Sequence[str | int]) -> bool:  # noqa: ANN401 - JSON
    for name in path:
        if not isinstance(whole, dict) or name not in whole:
            return False
        whole = whole[name]
    return True


def _parse(text: str) -> dict[str, Any]:
    value = parse_json_document(text).value
    if not isinstance(value, dict):
        raise ConfigError('agents.json must be an object with "agents" in it; correct it first')
    return value
