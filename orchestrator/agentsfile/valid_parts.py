"""Validate the parts of agents.json one by one; the problems of invalid ones go to the draft."""

import json
import re
from typing import TypeVar, get_args

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.field_types import ENTRY_NAME, PATTERN_WORDS, ConfigModel
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import describe_error, format_path, merge_errors
from orchestrator.agentsfile.provider_names import UNKNOWN
from thinker.protocol.messages import JsonObject

M = TypeVar("M", bound=BaseModel)
C = TypeVar("C", bound=ConfigModel)


def load_valid_entries(
    draft: Draft,
    value: JsonObject,
    key: str,
    model: type[M],
    noun: str,
    *,
    pattern: str = ENTRY_NAME,
    above: JsonPath = (),
) -> dict[str, M]:
    """Return the valid entries of the object ``key`` in the object at ``above``.

    ``noun`` is what messages call an entry.
    """
    valid: dict[str, M] = {}
    at = (*above, key)
    for name, item in read_object_at(draft, value, key, above).items():
        entry = None
        if re.fullmatch(pattern, name):
            subject = (f"{noun} '{name}'", None)
            entry = validate_part(draft, (*at, name), item, model, subject)
        else:
            text = f"{format_path(at)}: the name {name!r} {PATTERN_WORDS[pattern]}"
            draft.add_error((*at, name), text)
        if entry is None:
            draft.left_out.add((*at, name))
        else:
            valid[name] = entry
    return valid


def load_section(
    draft: Draft, path: JsonPath, section: JsonValue, model: type[C], subject: str
) -> C | None:
    """Validate an object as `validate_part` does, but each entry of `entry_nouns` by itself."""
    if not model.entry_nouns or not isinstance(section, dict):
        return validate_part(draft, path, section, model, (subject, None))
    entries: dict[str, object] = {}
    keys = set()
    for name, noun in model.entry_nouns.items():
        field = model.model_fields[name]
        *_, kind = get_args(field.annotation)
        key = field.alias or name
        keys.add(key)
        entries[name] = load_valid_entries(draft, section, key, kind, noun, above=path)
    rest = {key: item for key, item in section.items() if key not in keys}
    found = validate_part(draft, path, rest, model, (subject, None))
    return found and found.model_copy(update=entries)


def read_list_at(draft: Draft, value: JsonObject, key: str) -> list[JsonValue]:
    """Return a list at the top of the file; empty if the value is not a list."""
    items = value.get(key, [])
    if isinstance(items, list):
        return items
    draft.add_error((key,), f'"{key}" must be a list')
    return []


def read_object_at(draft: Draft, value: JsonObject, key: str, above: JsonPath = ()) -> JsonObject:
    """Return the object ``key`` in the object at ``above``; empty if the value is not an object."""
    members, at = value.get(key, {}), (*above, key)
    if isinstance(members, dict):
        return members
    draft.add_error(at, f'"{format_path(at)}" must be an object')
    return {}


def validate_part(
    draft: Draft, path: JsonPath, item: JsonValue, model: type[M], subject: tuple[str, str | None]
) -> M | None:
    """Validate the part at ``path`` as a ``model``; record problems and return None if invalid.

    ``subject`` is the part's name in messages, and the agent's id if the part is an agent.
    """
    name, agent_id = subject
    twice = [p for p in draft.document.repeated if _is_within(p, path, item)]
    for repeated in twice:
        draft.add_error(repeated, f'{name}: "{repeated[-1]}" appears twice; remove one', agent_id)
    try:
        found = model.model_validate_json(
            json.dumps(item),
            strict=True,
            by_alias=True,
            by_name=False,
            context=draft.known_providers,
        )
    except ValidationError as error:
        for detail in merge_errors(error.errors(include_url=False), item):
            if (*path, *detail["loc"]) in draft.unfilled:
                continue  # it has its own message
            text = _describe_own_provider(draft, name, detail) or describe_error(
                name, detail, model
            )
            draft.add_error((*path, *detail["loc"]), text, agent_id)
        return None
    unfilled = any(_is_within(place, path, item) for place in draft.unfilled)
    return None if twice or unfilled else found


def _is_within(place: JsonPath, path: JsonPath, item: JsonValue) -> bool:
    """Return whether an error's place is inside the part at ``path``, even in a missing field."""
    rest = place[len(path) :]
    apart = len(rest) > 1 and isinstance(item, dict) and rest[0] not in item
    return place[: len(path)] == path and not apart


def _describe_own_provider(draft: Draft, name: str, detail: ErrorDetails) -> str:
    """Return the reason why a part cannot use a provider of the file, or an empty string."""
    value, named = draft.document.value, detail["input"]
    stated = value.get("providers") if isinstance(value, dict) else None
    if detail["type"] != UNKNOWN or not isinstance(stated, dict) or named not in stated:
        return ""
    if detail["loc"] == ("like",):
        return (
            f"{name}: \"like\" must be a known provider, and '{named}' is defined only in this"
            " file; write the known one whose rules it has, or remove it"
        )
    lacks = detail["ctx"].get("ability")
    if named not in draft.known_providers or not lacks:
        return f"{name} names the provider '{named}', which has an error; correct that first"
    return (
        f"{name}: \"{format_path(detail['loc'])}\" names the provider '{named}', which has no"
        f' {lacks}; set "{lacks}": true in providers.{named} if its server has it'
    )
