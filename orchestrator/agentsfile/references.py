"""Replace ``${NAME}`` in secrets and addresses of agents.json by values of the environment.

The values exist only in the loaded configuration: the file and its last good copy keep the names.
``$${`` stands for the two characters ``${``.

Where: is ${NAME} in agents.json filled in?
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.field_types import ConfigModel
from orchestrator.agentsfile.mounting import load_models
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import format_path
from thinker.protocol.messages import JsonObject

MARK = re.compile(r"\$\$\{|\$\{(?P<name>[^{}]*)(?P<end>\}?)")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LITERAL = "write $${ for a literal ${"
PRIVATE = ("env", "headers", "secret")
MODEL_FIELDS = ("embeddings", "images")  # of agents, with an address in each
VOICE_FIELDS = ("hear", "speak")  # the same within "voice"


class FilledText(NamedTuple):
    """Text to fill in at ``holder[key]``, and its owner."""

    holder: JsonObject
    key: str
    path: JsonPath
    owner: str
    agent_id: str | None


def fill_references(draft: Draft, value: JsonObject, environ: Mapping[str, str]) -> None:
    """Replace each ``${NAME}`` in ``value``, the whole file; note secrets written literally.

    A part that names an unset or empty variable cannot be used.
    """
    for place in _find_places(value):
        text = place.holder[place.key]
        if not isinstance(text, str) or not text:
            continue
        private = next((name for name in place.path[-2:] if name in PRIVATE), None)
        if private and not MARK.search(text):
            draft.secrets[f"{private} of {place.owner}"] = None
        elif "${" in text:
            place.holder[place.key] = _fill_text(draft, place, text, environ)
    for name, server in _list_objects(value.get("mcpServers")):
        _check_plain_arguments(draft, name, server.get("args"))


def _fill_text(draft: Draft, place: FilledText, text: str, environ: Mapping[str, str]) -> str:
    """Return the text with its values filled in; record a problem if that is impossible."""

    def record_problem(message: str) -> str:
        depth = 4 if place.path[0] == "channels" else 2
        field = format_path(place.path[depth:])
        draft.add_error(place.path, f'{place.owner}: "{field}" {message}', place.agent_id)
        draft.unfilled.add(place.path)
        return ""

    def find_value(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return "${"
        if not match["end"] or not NAME.fullmatch(name):
            return record_problem(f"has a ${{ without a name and }} after it; {LITERAL}")
        if value := environ.get(name):
            return value
        return record_problem(
            f"takes {name}, which is not set; add it to keys.env in the daemon's home, or {LITERAL}"
        )

    return MARK.sub(find_value, text)


def _find_places(value: JsonObject) -> Iterator[FilledText]:
    agents = value.get("agents")
    numbered = enumerate(agents if isinstance(agents, list) else [])
    for number, agent in numbered:
        if not isinstance(agent, dict):
            continue
        agent_id = agent.get("agentId")
        known = agent_id if isinstance(agent_id, str) else None
        owner = f"agent '{known}'" if known else f"agent {number + 1}"
        at: JsonPath = ("agents", number)
        yield from _list_texts(agent, ("baseUrl",), at, owner, known)
        for name in filter(agent.__contains__, MODEL_FIELDS):
            yield from _list_texts(agent[name], ("baseUrl",), (*at, name), owner, known)
        for name, holder in _list_objects(agent.get("voice")):
            if name in VOICE_FIELDS:
                yield from _list_texts(holder, ("baseUrl",), (*at, "voice", name), owner, known)
        yield from _list_texts(agent.get("env"), None, (*at, "env"), owner, known)
    for key, noun, names in (
        ("mcpServers", "MCP server", ("url",)),
        ("models", "model", ("baseUrl",)),
        ("providers", "provider", ("baseUrl",)),
    ):
        for name, entry in _list_objects(value.get(key)):
            owner = f"{noun} '{name}'"
            yield from _list_texts(entry, names, (key, name), owner, None)
            for field in PRIVATE:
                yield from _list_texts(entry.get(field), None, (key, name, field), owner, None)
    yield from _find_mounted_places(value)


def _find_mounted_places(value: JsonObject) -> Iterator[FilledText]:
    """Yield the strings in extensions' settings and in channel entries that load one by one."""
    models = load_models()
    for name, section in _list_objects(value.get("extensions")):
        yield from _list_private_texts(section, ("extensions", name), f"extension '{name}'")
    for channel, section in _list_objects(value.get("channels")):
        field = models.channels.model_fields.get(channel)
        kind = ConfigModel if field is None else type(field.default)
        for name, noun in kind.entry_nouns.items():
            key = kind.model_fields[name].alias or name
            for entry, item in _list_objects(section.get(key)):
                path = ("channels", channel, key, entry)
                yield from _list_private_texts(item, path, f"{noun} '{entry}'")


def _list_private_texts(holder: JsonObject, path: JsonPath, owner: str) -> Iterator[FilledText]:
    """Yield the addresses, secrets and headers of an object."""
    yield from _list_texts(holder, ("url", "baseUrl", "secret"), path, owner, None)
    yield from _list_texts(holder.get("headers"), None, (*path, "headers"), owner, None)


def _list_texts(
    holder: JsonValue, names: tuple[str, ...] | None, path: JsonPath, owner: str, agent: str | None
) -> Iterator[FilledText]:
    """Yield the text members of an object with these names, or all."""
    if isinstance(holder, dict):
        for key in holder if names is None else filter(holder.__contains__, names):
            yield FilledText(holder, key, (*path, key), owner, agent)


def _list_objects(value: JsonValue) -> Iterator[tuple[str, JsonObject]]:
    if isinstance(value, dict):
        yield from ((name, entry) for name, entry in value.items() if isinstance(entry, dict))


def _check_plain_arguments(draft: Draft, name: str, arguments: JsonValue) -> None:
    """Warn about ``${NAME}`` in an argument, which other users could read; it is not replaced."""
    for number, text in enumerate(arguments if isinstance(arguments, list) else []):
        found = MARK.search(text) if isinstance(text, str) else None
        if found is not None and NAME.fullmatch(found["name"] or ""):
            draft.add_warning(
                ("mcpServers", name, "args", number),
                f"MCP server '{name}': {found[0]} in an argument is not replaced, as others can "
                'read arguments; pass the value in "env"',
            )
