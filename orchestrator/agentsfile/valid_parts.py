"""Read the parts of agents.json one by one: each is valid, or has its problems in the draft."""

import json
import re
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.field_types import ENTRY_NAME, PATTERN_WORDS
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import merged, path_text, sentence
from orchestrator.agentsfile.provider_names import UNKNOWN
from thinker.protocol.messages import JsonObject

M = TypeVar("M", bound=BaseModel)
ENTRY_NOUNS = {
    "mcpServers": "server",
    "providers": "provider",
    "models": "model",
    "prices": "price",
    "incoming": "webhook",
    "outgoing": "webhook",
}


def entries(
    draft: Draft,
    value: JsonObject,
    key: str,
    model: type[M],
    pattern: str = ENTRY_NAME,
    *,
    above: JsonPath = (),
) -> dict[str, M]:
    """Return the valid entries of the object ``key``, which is in the one at ``above``."""
    valid: dict[str, M] = {}
    at = (*above, key)
    for name, item in object_at(draft, value, key, above).items():
        entry = None
        if re.match(pattern, name):
            subject = (f"{ENTRY_NOUNS[key]} '{name}'", None)
            entry = valid_part(draft, (*at, name), item, model, subject)
        else:
            text = f"{path_text(at)}: the name {name!r} {PATTERN_WORDS[pattern]}"
            draft.error((*at, name), text)
        if entry is None:
            draft.left_out.add((*at, name))
        else:
            valid[name] = entry
    return valid


def list_at(draft: Draft, value: JsonObject, key: str) -> list[JsonValue]:
    """Return a list at the top of the file; an empty one if it is something else."""
    items = value.get(key, [])
    if isinstance(items, list):
        return items
    draft.error((key,), f'"{key}" must be a list')
    return []


def object_at(draft: Draft, value: JsonObject, key: str, above: JsonPath = ()) -> JsonObject:
    """Return the object ``key`` of the one at ``above``; an empty one if it is something else."""
    members, at = value.get(key, {}), (*above, key)
    if isinstance(members, dict):
        return members
    draft.error(at, f'"{path_text(at)}" must be an object')
    return {}


def valid_part(
    draft: Draft, path: JsonPath, item: JsonValue, model: type[M], subject: tuple[str, str | None]
) -> M | None:
    """Validate the part at ``path`` as a ``model``; record its problems and return None if invalid.

    ``subject`` is how messages name the part, and the id of its agent if it is one.
    """
    name, agent_id = subject
    twice = [p for p in draft.document.repeated if _within(p, path, item)]
    for repeated in twice:
        draft.error(repeated, f'{name}: "{repeated[-1]}" appears twice; remove one', agent_id)
    try:
        found = model.model_validate_json(
            json.dumps(item),
            strict=True,
            by_alias=True,
            by_name=False,
            context=draft.known_providers,
        )
    except ValidationError as error:
        for detail in merged(error.errors(include_url=False), item):
            if (*path, *detail["loc"]) in draft.unfilled:
                continue  # it has its own message
            text = _of_own_provider(draft, name, detail) or sentence(name, detail, model)
            draft.error((*path, *detail["loc"]), text, agent_id)
        return None
    unfilled = any(_within(place, path, item) for place in draft.unfilled)
    return None if twice or unfilled else found


def _within(place: JsonPath, path: JsonPath, item: JsonValue) -> bool:
    """Return whether a place is in the part at ``path``, ``item``, which may lack some fields."""
    rest = place[len(path) :]
    apart = len(rest) > 1 and isinstance(item, dict) and rest[0] not in item
    return place[: len(path)] == path and not apart


def _of_own_provider(draft: Draft, name: str, detail: ErrorDetails) -> str:
    """Return what to say of a part that names a provider of the file which it cannot use."""
    value, named = draft.document.value, detail["input"]
    stated = value.get("providers") if isinstance(value, dict) else None
    if detail["type"] != UNKNOWN or not isinstance(stated, dict) or named not in stated:
        return ""
    if detail["loc"] == ("like",):
        return (
            f"{name}: \"like\" must be a known provider, and '{named}' is defined in this file"
            " alone; write the known one whose rules it has, or remove it"
        )
    lacks = detail["ctx"].get("ability")
    if named not in draft.known_providers or not lacks:
        return f"{name} names the provider '{named}', which has an error; correct that first"
    return (
        f"{name}: \"{path_text(detail['loc'])}\" names the provider '{named}', which has no"
        f' {lacks}; set "{lacks}": true in providers.{named} if its server has it'
    )
