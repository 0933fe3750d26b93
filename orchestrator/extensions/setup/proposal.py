"""Propose an agents.json: a short new one, or changes to the existing one."""

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from orchestrator.agentsfile.positions import parse_json_document
from orchestrator.agentsfile.text_edits import replace_value
from orchestrator.errors import ConfigError, UnknownAgentError, join_names
from orchestrator.extensions.setup.model_account import FIRST_AGENT, ModelAccount
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import list_key_variables

PAIRING = "pairing"


@dataclass(frozen=True)
class SetupChoices:
    """The choices to write to the file.

    ``account`` is None if the agent keeps its model. ``allow`` are the ids that may write to the
    bot, or `PAIRING`; empty leaves that unchanged. ``window`` is set for an agent that gets the
    profile for a small model: the tokens that the model reads at once. ``bot_account`` is that
    of the bot; empty for the default one. With ``releases``, an address or a key of the agent that
    is for another model goes, instead of being refused.
    """

    agent_id: str
    account: ModelAccount | None
    model: str
    telegram: bool = False
    allow: tuple[str, ...] = ()
    window: int | None = None
    bot_account: str = ""
    releases: bool = False

    def build_fields(self) -> JsonObject:
        """Return the agent's fields to write."""
        fields = {} if self.account is None else self.account.build_fields(self.model)
        if self.window is not None:
            threshold = max(100, self.window // 2)
            fields |= {"profile": "small", "compaction": {"thresholdTokens": threshold}}
        return fields


def propose_text(text: str | None, wishes: SetupChoices) -> str:
    """Return the new text of the file; ``text`` is the old one, if any.

    Raises:
        ConfigError: the file is not a JSON object, or the agent has another model's key or
        address.
    """
    if text is None:
        return _format_new_file(wishes)
    value = parse_json_document(text).value
    if not isinstance(value, dict):
        raise ConfigError('agents.json must be an object with "agents" in it; correct it first')
    text = _set_agent(text, value, wishes)
    text = _add_bindings(text, value, wishes)
    if wishes.telegram and wishes.bot_account and wishes.bot_account not in _find_accounts(value):
        text = replace_value(text, _list_place(wishes.bot_account), {})
    return _set_access(text, value, wishes) if wishes.telegram and wishes.allow else text


def format_difference(old: str, new: str) -> str:
    """Return the changed lines like ``diff -u``, without its header."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
    return "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))


def list_agent_objects(value: JsonValue) -> list[JsonObject]:
    """Return the agents of a file that are objects, valid or not."""
    items = value.get("agents") if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def choose_agent(wanted: str, agents: list[JsonObject]) -> str:
    """Return the agent to set up: the first one that is on, unless one is named.

    Raises:
        UnknownAgentError: no agent has that name, which may be misspelt.
    """
    known = [str(one.get("agentId")) for one in agents]
    if wanted and known and wanted not in known:
        names = join_names(known)
        raise UnknownAgentError(f"no agent is called {wanted!r}; choose one of {names}")
    enabled = (str(one.get("agentId")) for one in agents if one.get("enabled") is not False)
    return wanted or next(enabled, FIRST_AGENT)


def find_access(text: str, account: str = "") -> str:
    """Return the rule by which new chats are admitted to the bot, from a valid file's text."""
    value = parse_json_document(text).value
    sections = _find_telegram(value), _find_telegram(value, account)
    merged = sections[0] | sections[1]
    return str(merged.get("access") or PAIRING)


def _find_telegram(value: JsonValue, account: str = "") -> JsonObject:
    """Return the section of the bot, or of an account."""
    for name in _list_place(account):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _find_accounts(value: JsonValue) -> JsonObject:
    accounts = _find_telegram(value).get("accounts")
    return accounts if isinstance(accounts, dict) else {}


def _list_place(account: str) -> tuple[str, ...]:
    return ("channels", "telegram", *(("accounts", account) if account else ()))


def _format_new_file(wishes: SetupChoices) -> str:
    agent: JsonObject = {"agentId": wishes.agent_id, **wishes.build_fields()}
    agent["promptLayout"] = "cached"  # what providers charge least for
    bindings = (_build_binding(channel, wishes) for channel in _list_channels(wishes))
    parts = [
        '  "$schema": "./agents.schema.json"',
        f'  "agents": [\n{_format_rows([agent])}\n  ]',
        f'  "bindings": [\n{_format_rows(bindings)}\n  ]',
    ]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    if wishes.telegram and wishes.bot_account:
        text = replace_value(text, _list_place(wishes.bot_account), {})
    allowed = wishes.allow and wishes.allow != (PAIRING,)
    return _set_access(text, {}, wishes) if wishes.telegram and allowed else text


def _format_rows(items: Iterable[JsonObject]) -> str:
    return ",\n".join(
        "    { " + json.dumps(item, ensure_ascii=False)[1:-1] + " }" for item in items
    )


def _list_channels(wishes: SetupChoices) -> tuple[str, ...]:
    return ("telegram", "console") if wishes.telegram else ("console",)


def _build_binding(channel: str, wishes: SetupChoices) -> JsonObject:
    own = {"account": wishes.bot_account} if wishes.bot_account and channel == "telegram" else {}
    return {"channel": channel, **own, "chatId": "*", "agentId": wishes.agent_id}


def _set_agent(text: str, value: JsonObject, wishes: SetupChoices) -> str:
    items = value.get("agents")
    known = items if isinstance(items, list) else []
    fields = wishes.build_fields()
    for number, agent in enumerate(known):
        if not isinstance(agent, dict) or agent.get("agentId") != wishes.agent_id:
            continue
        there = agent
        if wishes.releases:
            text, there = _release_account(text, ("agents", number), agent, fields)
        else:
            require_no_other_account(agent, fields)
        for path, wanted in _list_changes(there, fields):
            text = replace_value(text, ("agents", number, *path), wanted)
        return text
    return replace_value(text, ("agents", len(known)), {"agentId": wishes.agent_id, **fields})


def require_no_other_account(agent: JsonObject, fields: JsonObject) -> None:
    """Refuse to move an agent whose address or key would stay: it would not work."""
    if not fields or all(agent.get(name) == value for name, value in fields.items()):
        return
    env = agent.get("env")
    keys = list_key_variables() & env.keys() if isinstance(env, dict) else set()
    wanted = fields.get("env")
    others = keys - (wanted.keys() if isinstance(wanted, dict) else set())
    other = '"baseUrl"' if agent.get("baseUrl") and "baseUrl" not in fields else ""
    other = other or "".join(f'"env": {{"{name}": …}}' for name in sorted(others)[:1])
    if other:
        raise ConfigError(
            f"agent '{agent['agentId']}' has {other}, which is for another model; remove that from"
            " agents.json first, or name a new agent with --agent"
        )


def _release_account(
    text: str, place: tuple[str, int], agent: JsonObject, fields: JsonObject
) -> tuple[str, JsonObject]:
    """Return the text and the agent without what the agent has for another model."""
    env, wanted = agent.get("env"), fields.get("env")
    own = wanted.keys() if isinstance(wanted, dict) else set()
    keys = list_key_variables() - own
    if fields and isinstance(env, dict) and keys & env.keys():
        kept: JsonObject = {name: value for name, value in env.items() if name not in keys}
        text, agent = replace_value(text, (*place, "env"), kept), {**agent, "env": kept}
    if fields and agent.get("baseUrl") and "baseUrl" not in fields:
        text, agent = replace_value(text, (*place, "baseUrl"), None), {**agent, "baseUrl": None}
    return text, agent


def _list_changes(agent: JsonObject, fields: JsonObject) -> list[tuple[tuple[str, ...], JsonValue]]:
    changes: list[tuple[tuple[str, ...], JsonValue]] = []
    for name, wanted in fields.items():
        there = agent.get(name)
        if isinstance(wanted, dict) and isinstance(there, dict):
            inner = ((key, item) for key, item in wanted.items() if there.get(key) != item)
            changes += [((name, key), item) for key, item in inner]
        elif there != wanted:
            changes.append(((name,), wanted))
    return changes


def _add_bindings(text: str, value: JsonObject, wishes: SetupChoices) -> str:
    """Add a binding for each channel that no binding or fallback routes to an agent."""
    items = value.get("bindings")
    known = items if isinstance(items, list) else []
    bound = {(item.get("channel"), item.get("account")) for item in known if isinstance(item, dict)}
    place = len(known)
    for channel in _list_channels(wishes):
        binding = _build_binding(channel, wishes)
        account = binding.get("account")
        if (channel, account) not in bound and (account or not value.get("fallbackAgentId")):
            text = replace_value(text, ("bindings", place), binding)
            place += 1
    return text


def _set_access(text: str, value: JsonObject, wishes: SetupChoices) -> str:
    known, at = _find_telegram(value, wishes.bot_account), _list_place(wishes.bot_account)
    if wishes.allow == (PAIRING,):
        usual = known.get("access", PAIRING) == PAIRING
        return text if usual else replace_value(text, (*at, "access"), PAIRING)
    there = known.get("allowlist")
    ids = [str(item) for item in there] if isinstance(there, list) else []
    added = [item for item in wishes.allow if item not in ids]
    if known.get("access") != "allowlist":
        text = replace_value(text, (*at, "access"), "allowlist")
    if isinstance(there, list):
        for place, item in enumerate(added, len(there)):
            text = replace_value(text, (*at, "allowlist", place), item)
        return text
    return replace_value(text, (*at, "allowlist"), [*added])
