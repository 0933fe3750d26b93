"""Fill in ``${NAME}`` where agents.json holds secrets and addresses, from the environment.

The values exist in the loaded configuration alone: the file and its last good copy keep the names.
``$${`` stands for the two characters ``${``.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import path_text
from thinker.protocol.messages import JsonObject

MARK = re.compile(r"\$\$\{|\$\{(?P<name>[^{}]*)(?P<end>\}?)")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LITERAL = "write $${ for a literal ${"
PRIVATE = ("env", "headers", "secret")


class FilledText(NamedTuple):
    """A text that is filled in: ``holder[key]``, and whose it is."""

    holder: JsonObject
    key: str
    path: JsonPath
    owner: str
    agent_id: str | None


def fill(draft: Draft, value: JsonObject, environ: Mapping[str, str]) -> None:
    """Replace each ``${NAME}`` in ``value``, the whole file; note secrets that stand in the file.

    A part that names a variable which is not set cannot be used; an empty one counts as not set.
    """
    for place in _places(value):
        text = place.holder[place.key]
        if not isinstance(text, str) or not text:
            continue
        private = next((name for name in place.path[-2:] if name in PRIVATE), None)
        if private and not MARK.search(text):
            draft.secrets[f"{private} of {place.owner}"] = None
        elif "${" in text:
            place.holder[place.key] = _filled(draft, place, text, environ)
    for name, server in _objects(value.get("mcpServers")):
        _plain_arguments(draft, name, server.get("args"))


def _filled(draft: Draft, place: FilledText, text: str, environ: Mapping[str, str]) -> str:
    """Return a text with its values; record why it cannot be filled."""

    def problem(message: str) -> str:
        field = path_text(place.path[-1:] if place.path[0] == "channels" else place.path[2:])
        draft.error(place.path, f'{place.owner}: "{field}" {message}', place.agent_id)
        draft.unfilled.add(place.path)
        return ""

    def found(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return "${"
        if not match["end"] or not NAME.fullmatch(name):
            return problem(f"has a ${{ without a name and }} after it; {LITERAL}")
        if value := environ.get(name):
            return value
        return problem(
            f"takes {name}, which is not set; add it to keys.env in the daemon's home, or {LITERAL}"
        )

    return MARK.sub(found, text)


def _places(value: JsonObject) -> Iterator[FilledText]:
    agents = value.get("agents")
    numbered = enumerate(agents if isinstance(agents, list) else [])
    for number, agent in numbered:
        if not isinstance(agent, dict):
            continue
        agent_id = agent.get("agentId")
        known = agent_id if isinstance(agent_id, str) else None
        owner = f"agent '{known}'" if known else f"agent {number + 1}"
        at: JsonPath = ("agents", number)
        for path in ((), ("embeddings",), ("voice", "hear"), ("voice", "speak"), ("images",)):
            holder: JsonValue = agent
            for name in path:
                holder = holder.get(name) if isinstance(holder, dict) else None
            yield from _texts(holder, ("baseUrl",), (*at, *path), owner, known)
        yield from _texts(agent.get("env"), None, (*at, "env"), owner, known)
    for key, noun, names in (
        ("mcpServers", "MCP server", ("url",)),
        ("models", "model", ("baseUrl",)),
        ("providers", "provider", ("baseUrl",)),
    ):
        for name, entry in _objects(value.get(key)):
            owner = f"{noun} '{name}'"
            yield from _texts(entry, names, (key, name), owner, None)
            for field in PRIVATE:
                yield from _texts(entry.get(field), None, (key, name, field), owner, None)
    yield from _of_hooks(value)


def _of_hooks(value: JsonObject) -> Iterator[FilledText]:
    channels = value.get("channels")
    hooks = channels.get("hook") if isinstance(channels, dict) else None
    for side in ("incoming", "outgoing"):
        for name, hook in _objects(hooks.get(side) if isinstance(hooks, dict) else None):
            path, owner = ("channels", "hook", side, name), f"webhook '{name}'"
            yield from _texts(hook, ("secret", "url"), path, owner, None)
            yield from _texts(hook.get("headers"), None, (*path, "headers"), owner, None)


def _texts(
    holder: JsonValue, names: tuple[str, ...] | None, path: JsonPath, owner: str, agent: str | None
) -> Iterator[FilledText]:
    """Yield the members of an object with these names, or all."""
    if isinstance(holder, dict):
        for key in holder if names is None else holder.keys() & set(names):
            yield FilledText(holder, key, (*path, key), owner, agent)


def _objects(value: JsonValue) -> Iterator[tuple[str, JsonObject]]:
    if isinstance(value, dict):
        yield from ((name, entry) for name, entry in value.items() if isinstance(entry, dict))


def _plain_arguments(draft: Draft, name: str, arguments: JsonValue) -> None:
    """Warn of an argument that looks as if it were filled in: other users can read arguments."""
    for number, text in enumerate(arguments if isinstance(arguments, list) else []):
        found = MARK.search(text) if isinstance(text, str) else None
        if found is not None and NAME.fullmatch(found["name"] or ""):
            draft.warn(
                ("mcpServers", name, "args", number),
                f"MCP server '{name}': {found[0]} in an argument is not replaced, as others can "
                'read arguments; pass the value in "env"',
            )
