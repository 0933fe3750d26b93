"""Propose an agents.json: a short new one, or what has to change in the one that exists."""

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from orchestrator.agentsfile.positions import read
from orchestrator.agentsfile.text_edits import with_value
from orchestrator.cli.setup.model_account import ModelAccount
from orchestrator.errors import ConfigError
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import key_variables

PAIRING = "pairing"


@dataclass(frozen=True)
class Wishes:
    """What the file shall say.

    ``account`` is None if the agent keeps its model. ``allow`` are the ids that may write to the
    bot, or `PAIRING` for all who get approved; empty leaves that as it is.
    """

    agent_id: str
    account: ModelAccount | None
    model: str
    telegram: bool = False
    allow: tuple[str, ...] = ()


def proposed(text: str | None, wishes: Wishes) -> str:
    """Return the text that does what is wished; ``text`` is that of the file, if there is one.

    Raises:
        ConfigError: the file is no JSON object, or the agent has a key or address of another model.
    """
    if text is None:
        return _fresh(wishes)
    value = read(text).value
    if not isinstance(value, dict):
        raise ConfigError('agents.json must be an object with "agents" in it; correct it first')
    text = _with_agent(text, value, wishes)
    text = _with_bindings(text, value, wishes)
    return _with_access(text, value, wishes) if wishes.telegram and wishes.allow else text


def difference(old: str, new: str) -> str:
    """Return the lines that change, as ``diff -u`` shows them, without its head."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
    return "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))


def agents_in(value: JsonValue) -> list[JsonObject]:
    """Return the agents of a file's value that are objects, valid or not."""
    items = value.get("agents") if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def access_of(text: str) -> str:
    """Return how new chats are admitted to the bot, as a valid file's text says."""
    return str(_telegram(read(text).value).get("access") or PAIRING)


def _telegram(value: JsonValue) -> JsonObject:
    channels = value.get("channels") if isinstance(value, dict) else None
    telegram = channels.get("telegram") if isinstance(channels, dict) else None
    return telegram if isinstance(telegram, dict) else {}


def _fresh(wishes: Wishes) -> str:
    agent: JsonObject = {"agentId": wishes.agent_id}
    agent |= {} if wishes.account is None else wishes.account.fields(wishes.model)
    channels = ("telegram", "console") if wishes.telegram else ("console",)
    bindings = (_binding(channel, wishes.agent_id) for channel in channels)
    parts = [
        '  "$schema": "./agents.schema.json"',
        f'  "agents": [\n{_rows([agent])}\n  ]',
        f'  "bindings": [\n{_rows(bindings)}\n  ]',
    ]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    allowed = wishes.allow and wishes.allow != (PAIRING,)
    return _with_access(text, {}, wishes) if wishes.telegram and allowed else text


def _rows(items: Iterable[JsonObject]) -> str:
    return ",\n".join(
        "    { " + json.dumps(item, ensure_ascii=False)[1:-1] + " }" for item in items
    )


def _binding(channel: str, agent_id: str) -> JsonObject:
    return {"channel": channel, "chatId": "*", "agentId": agent_id}


def _with_agent(text: str, value: JsonObject, wishes: Wishes) -> str:
    items = value.get("agents")
    known = items if isinstance(items, list) else []
    fields = {} if wishes.account is None else wishes.account.fields(wishes.model)
    for number, agent in enumerate(known):
        if isinstance(agent, dict) and agent.get("agentId") == wishes.agent_id:
            require_no_other(agent, fields)
            for path, wanted in _changes(agent, fields):
                text = with_value(text, ("agents", number, *path), wanted)
            return text
    return with_value(text, ("agents", len(known)), {"agentId": wishes.agent_id, **fields})


def require_no_other(agent: JsonObject, fields: JsonObject) -> None:
    """Refuse to lead an agent elsewhere whose address or key would stay: it would not work."""
    if not fields or all(agent.get(name) == value for name, value in fields.items()):
        return
    env = agent.get("env")
    keys = key_variables() & env.keys() if isinstance(env, dict) else set()
    wanted = fields.get("env")
    others = keys - (wanted.keys() if isinstance(wanted, dict) else set())
    other = '"baseUrl"' if agent.get("baseUrl") and "baseUrl" not in fields else ""
    other = other or "".join(f'"env": {{"{name}": …}}' for name in sorted(others)[:1])
    if other:
        raise ConfigError(
            f"agent '{agent['agentId']}' has {other}, which is for another model; remove that from"
            " agents.json first, or name a new agent with --agent"
        )


def _changes(agent: JsonObject, fields: JsonObject) -> list[tuple[tuple[str, ...], JsonValue]]:
    changes: list[tuple[tuple[str, ...], JsonValue]] = []
    for name, wanted in fields.items():
        there = agent.get(name)
        if isinstance(wanted, dict) and isinstance(there, dict):
            inner = ((key, item) for key, item in wanted.items() if there.get(key) != item)
            changes += [((name, key), item) for key, item in inner]
        elif there != wanted:
            changes.append(((name,), wanted))
    return changes


def _with_bindings(text: str, value: JsonObject, wishes: Wishes) -> str:
    """Add a binding for each channel that no binding and no fallback leads to an agent."""
    items = value.get("bindings")
    known = items if isinstance(items, list) else []
    bound = {item.get("channel") for item in known if isinstance(item, dict)}
    place = len(known)
    for channel in ("telegram", "console") if wishes.telegram else ("console",):
        if channel not in bound and not value.get("fallbackAgentId"):
            text = with_value(text, ("bindings", place), _binding(channel, wishes.agent_id))
            place += 1
    return text


def _with_access(text: str, value: JsonObject, wishes: Wishes) -> str:
    known = _telegram(value)
    at = ("channels", "telegram")
    if wishes.allow == (PAIRING,):
        usual = known.get("access", PAIRING) == PAIRING
        return text if usual else with_value(text, (*at, "access"), PAIRING)
    there = known.get("allowlist")
    ids = [str(item) for item in there] if isinstance(there, list) else []
    added = [item for item in wishes.allow if item not in ids]
    if known.get("access") != "allowlist":
        text = with_value(text, (*at, "access"), "allowlist")
    if isinstance(there, list):
        for place, item in enumerate(added, len(there)):
            text = with_value(text, (*at, "allowlist", place), item)
        return text
    return with_value(text, (*at, "allowlist"), [*added])
