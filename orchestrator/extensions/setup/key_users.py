"""Find which keys an agents.json needs, and what uses each."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from orchestrator.agentsfile import AgentsFile, references
from orchestrator.agentsfile.channel_kinds import load_channel_kinds, name_secret, split_account
from orchestrator.extensions.setup.bot_tokens import TELEGRAM, TOKEN
from orchestrator.extensions.setup.offers import list_provider_facts

SECTIONS = {"mcpServers": "MCP server {}", "channels": "channel {}", "models": "model {}"}


def find_key_users(
    document: JsonValue, file: AgentsFile, environ: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return what uses each key, keyed by the key's name.

    ``document`` is the text of agents.json as JSON, ``file`` what it says; ``environ`` has all keys
    that are set.
    """
    found: dict[str, dict[str, None]] = {}
    for name, user in (*_list_references(document), *_list_usual_keys(file, environ)):
        found.setdefault(name, {})[user] = None
    return {name: tuple(users) for name, users in found.items()}


def _list_references(document: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield each ``${NAME}`` in the file, with the part of the file that has it."""
    for section, value in document.items() if isinstance(document, dict) else ():
        if section == "agents" and isinstance(value, list):
            for agent in value:
                name = agent.get("agentId") if isinstance(agent, dict) else None
                yield from ((key, f"agent {name}") for key in _find_names(agent))
        elif section in SECTIONS and isinstance(value, dict):
            for name, entry in value.items():
                yield from ((key, SECTIONS[section].format(name)) for key in _find_names(entry))
        else:
            yield from ((key, section) for key in _find_names(value))


def _find_names(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        found = (one["name"] for one in references.MARK.finditer(value) if one["end"])
        yield from (name for name in found if references.NAME.fullmatch(name))
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _find_names(item)


def _list_usual_keys(file: AgentsFile, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the keys that agents and channels use without naming them."""
    for provider in list_provider_facts(file, environ):
        for agent_id in provider.agents:
            if provider.key_variable:
                yield provider.key_variable, f"agent {agent_id}"
    kinds = load_channel_kinds()
    for name, section in file.channels.list_chat_channels().items():
        system, _ = split_account(name)
        secrets = kinds[system].secrets if system in kinds else {}
        for variable in ((TOKEN,) if system == TELEGRAM else secrets) if section.enabled else ():
            yield name_secret(variable, name), f"channel {name}"
