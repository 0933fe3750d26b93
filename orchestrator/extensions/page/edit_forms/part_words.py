"""Words for the parts of agents.json that have forms."""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.agentsfile import server_sandbox
from orchestrator.agentsfile.text_edits import JsonLayout
from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import PartPath
from orchestrator.extensions.page.edit_forms.form_fields import make_label
from orchestrator.extensions.page.edit_forms.frequent_fields import FREQUENT_FIELDS
from thinker.protocol.messages import JsonObject

SERVER = "McpServer"
ONE_OF: Mapping[str, str] = {  # by the part that holds them
    "agents": "agent",
    "bindings": "binding",
    "mcpServers": "tool server",
    "providers": "provider",
    "models": "model",
    "prices": "price",
    "accounts": "account",
    "incoming": "incoming webhook",
    "outgoing": "outgoing webhook",
    "chats": "group",
}
NAMES: Mapping[str, str] = {  # what the parts are called by, where no short word does
    "prices": "The provider and the model, such as openai/gpt-5-mini; * stands for any text.",
    "accounts": "A short word of letters, digits, - and _, such as support.",
    "chats": "The id of the group, such as -1001234567890.",
}
SHORT_NAME = "A short word of letters, digits, - and _."
ALONE: Mapping[str, str] = {
    "retention": "Retention",
    "web": "This page",
    "api": "OpenAI API",
    "mcp": "MCP server",
    "hook": "Webhooks",
    "console": "The console",
}
REMOVALS: Mapping[str, str] = {
    "AgentDefinition": "Its chats stay in the journal, but nothing is answered there any more"
    " unless another binding leads to an agent.",
    "Binding": "Messages of this chat go where the other bindings lead, or are refused.",
    SERVER: "Agents lose all its tools at once. What they already did with them stays.",
}
ITS_USERS = "All agents may use its tools, unless their own lists of tools leave them out."
CLOSED = "It also writes its own folder; the daemon's home, keys and journal are closed to it."


def name_part(at: PartPath, value: JsonValue) -> str:
    """Return the title of the form for a part that exists."""
    kind = ONE_OF.get(str(at[-2])) if len(at) > 1 else None
    if kind is None:
        name = str(at[-1])
        return ALONE.get(name, name.replace("_", " ").capitalize())
    name = str(at[-1])
    if isinstance(value, dict) and isinstance(at[-1], int):
        name = str(value.get("agentId", at[-1] + 1))
        if at[-2] == "bindings":
            name = f"{value.get('channel', '')}:{value.get('chatId', '')} to {name}"
    return f"{kind.capitalize()} {name}"


def name_line(text: str, line: int) -> str:
    """Return the part and the field that begin in a line of JSON text; empty where none does."""
    try:
        members = JsonLayout.read_text(text).members
    except (IndexError, RecursionError, ValueError):
        return ""
    starts = [0, *(at + 1 for at, sign in enumerate(text) if sign == "\n")]
    begin, end = [*starts, len(text)][line - 1 : line + 1] if 0 < line <= len(starts) else (0, 0)
    path = next((path for path, at in members.items() if begin <= at < end), ())
    holders = [at for at, key in enumerate(path) if key in ONE_OF and at + 1 < len(path)]
    size = holders[-1] + 2 if holders else min(2, len(path))
    if not path:
        return ""
    part, rest = path[:size], [str(key) for key in path[size:] if isinstance(key, str)]
    name = name_part(part, agents_schema.find_value(json.loads(text), part))
    if not rest:
        return name
    schema = agents_schema.find_part_schema(agents_schema.load_schema(), part) or {}
    known = FREQUENT_FIELDS.get(str(schema.get("title", "")), {})
    return f"{name}, {known.get('.'.join(rest)) or make_label(tuple(rest))}"


def name_new_part(at: PartPath) -> str:
    """Return the title of the form for a part that is added at ``at``, or below it."""
    names = [str(one) for one in at if isinstance(one, str)]
    kind = ONE_OF.get(names[-1] if names else "", "part")
    return f"Add {'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def describe_name(at: PartPath) -> str:
    """Return what a new part that is kept by name at ``at`` may be called."""
    return NAMES.get(str(at[-1]), SHORT_NAME) if at else SHORT_NAME


def describe_removal(schema: JsonObject) -> str:
    """Return what it means that a part goes; empty where its sentences say enough."""
    return REMOVALS.get(str(schema.get("title", "")), "")


def describe_jail(schema: JsonObject, server: JsonValue) -> str:
    """Return in words how a tool server is jailed; empty for other parts."""
    if schema.get("title") != SERVER:
        return ""
    if agents_schema.find_value(server, ("url",)) is not None:
        return "It runs elsewhere, at its address; nothing of it runs on this machine."
    rules = agents_schema.find_value(server, ("sandbox",))
    words = f"Its program runs {server_sandbox.describe_jail(rules)}."
    return words if rules == "off" else f"{words} {CLOSED} {ITS_USERS}"
