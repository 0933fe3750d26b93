"""The schema of agents.json: what each part of the file may be."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeAlias

from pydantic import JsonValue

from orchestrator.home_paths import find_bundled_path
from thinker.protocol.messages import JsonObject

PartPath: TypeAlias = tuple[str | int, ...]
AGENTS_FILE = "agents.json"
ACCOUNTS = "accounts"  # the further bots of a channel
OF_PLACES = frozenset({"description", "default"})  # what a place says beside its kind of value
MAX_DEPTH = 6  # of the keys that are explained


@cache
def read_schema_text() -> bytes:
    """Read the schema once, before the jail closes."""
    return (find_bundled_path("config") / "agents.schema.json").read_bytes()


def load_schema() -> JsonObject:
    """Return the schema of the whole file."""
    found: JsonObject = json.loads(read_schema_text())
    return found


def find_part_schema(root: JsonObject, path: PartPath) -> JsonObject | None:
    """Return the schema of the part at ``path``; None where the file cannot have one."""
    schema: JsonObject | None = root
    for number, key in enumerate(path):
        if schema is None:
            return None
        if number and path[number - 1] == ACCOUNTS:  # has the fields of its channel
            return find_part_schema(root, path[: number - 1])
        schema = _find_child(find_shape(root, schema), key)
    return None if schema is None else _keep_description(schema, find_shape(root, schema))


def find_shape(root: JsonObject, schema: JsonObject) -> JsonObject:
    """Return what a reference or a choice with null stands for: of more choices the object."""
    for _ in range(MAX_DEPTH):
        reference, choices = schema.get("$ref"), list_choices(schema)
        if isinstance(reference, str):
            schema = _find_definition(root, reference)
        elif choices:
            resolved = [find_shape(root, one) for one in choices]
            schema = next((one for one in resolved if "properties" in one), resolved[0])
        else:
            break
    return schema


def list_choices(schema: JsonObject) -> list[JsonObject]:
    """Return the kinds of values that a part may have, without null; empty if it has one."""
    found = schema.get("anyOf") or schema.get("oneOf")
    if not isinstance(found, list):
        return []
    return [one for one in found if isinstance(one, dict) and one.get("type") != "null"]


def find_item_schema(root: JsonObject, schema: JsonObject) -> JsonObject | None:
    """Return the schema of what a list or a named collection holds, if these are objects."""
    found: JsonValue = schema.get("items")
    if found is None:
        found = next(iter(_get_object(schema, "patternProperties").values()), None)
    if found is None and "properties" not in schema:
        found = schema.get("additionalProperties")
    if not isinstance(found, dict):
        return None
    shape = find_shape(root, found)
    return shape if "properties" in shape else None


def find_name_rule(root: JsonObject, path: PartPath) -> str:
    """Return the pattern of names in a named collection; one that fits all where it has none."""
    schema = find_part_schema(root, path) or {}
    return "|".join(_get_object(schema, "patternProperties"))


def parse_agents_text(text: str) -> JsonValue:
    """Return the value of agents.json; None for text that is no JSON."""
    try:
        value: JsonValue = json.loads(text)
    except (RecursionError, ValueError):
        return None
    return value


def find_agent_place(value: JsonValue, agent_id: str) -> int | None:
    """Return the place of an agent in the list of agents.json; None if it is not there."""
    agents = find_value(value, ("agents",))
    found = (
        number
        for number, one in enumerate(agents if isinstance(agents, list) else [])
        if find_value(one, ("agentId",)) == agent_id
    )
    return next(found, None)


def find_value(value: JsonValue, path: Sequence[str | int]) -> JsonValue:
    """Return the part of a JSON value at ``path``; None where it has no such part."""
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def parse_path(text: str) -> PartPath:
    """Parse an address such as ``agents/0``; a name may have ``%2F`` for a slash."""
    parts = [part.replace("%2F", "/") for part in text.split("/") if part]
    return tuple(int(part) if re.fullmatch(r"[0-9]{1,6}", part) else part for part in parts)


def format_path(path: Sequence[str | int]) -> str:
    """Format a path as `parse_path` reads it."""
    return "/".join(str(part).replace("/", "%2F") for part in path)


def list_key_help(root: JsonObject) -> dict[str, str]:
    """Return the descriptions of all keys, by paths in which ``*`` stands for names and numbers."""
    return dict(_iter_key_help(root, root, "", 0))


def _iter_key_help(
    root: JsonObject, schema: JsonObject, path: str, depth: int
) -> Iterator[tuple[str, str]]:
    shape = find_shape(root, schema)
    children = dict(_get_object(shape, "properties"))
    item = find_item_schema(root, shape)
    if item is not None:
        children["*"] = item
    for name, child in children.items():
        if not isinstance(child, dict) or depth >= MAX_DEPTH:
            continue
        here = f"{path}/{name}" if path else name
        text = _keep_description(child, find_shape(root, child)).get("description")
        if isinstance(text, str) and name != "*":
            yield here, text
        yield from _iter_key_help(root, child, here, depth + 1)


def _find_child(schema: JsonObject, key: str | int) -> JsonObject | None:
    if isinstance(key, int) and "items" in schema:
        found = schema["items"]
    else:
        found = _get_object(schema, "properties").get(str(key))
        named = _get_object(schema, "patternProperties").items()
        found = found or next((one for rule, one in named if re.search(rule, str(key))), None)
        found = found or schema.get("additionalProperties")
    return found if isinstance(found, dict) else None


def _find_definition(root: JsonObject, reference: str) -> JsonObject:
    return _get_object(_get_object(root, "$defs"), reference.rpartition("/")[2])


def _get_object(schema: JsonObject, name: str) -> JsonObject:
    found = schema.get(name)
    return found if isinstance(found, dict) else {}


def _keep_description(schema: JsonObject, shape: JsonObject) -> JsonObject:
    """Return a shape with the description and default of the place that it is used at."""
    kept: JsonObject = {name: value for name, value in schema.items() if name in OF_PLACES}
    return {**shape, **kept}
