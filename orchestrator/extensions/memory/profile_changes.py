"""Change fields of the profile; every change is kept with its source."""

from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise

import orjson
from pydantic import JsonValue, TypeAdapter

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.profile import (
    PROMPT,
    Keys,
    ProfileError,
    get_value,
    is_overlapping,
    parse_path,
)
from orchestrator.journal.memory.secret_filter import detect_secret_kind
from thinker.protocol.messages import LATE, UNTRUSTED, JsonObject, Origin, find_least_trusted

MAX_BYTES = 64 * 1024  # of a profile as JSON
_VALUE: TypeAdapter[JsonValue] = TypeAdapter(JsonValue, config=LATE)


@dataclass(frozen=True)
class ProfileChange:
    """A change of a field; ``before`` and ``after`` as JSON, None for no value; ``at`` in ms."""

    path: str
    before: str | None
    after: str | None
    source: str
    at: int


CHANGES = Rows(ProfileChange, "profile_change")


def set_value(fields: JsonObject, keys: Keys, value: JsonValue) -> JsonObject:
    """Return a copy of a profile with a value at a path; None removes the field.

    Missing objects and lists on the way are created; the position after the last one of a list
    appends to it.

    Raises:
        ProfileError: the path is empty, or leads through a value of another type.
    """
    if not keys:
        raise ProfileError("path is empty; name the field, such as persona.name")
    root = deepcopy(fields)
    place: JsonValue = root
    for key, following in pairwise(keys):
        below = get_value(place, [key])
        if below is None:
            below = [] if isinstance(following, int) else {}
            _put_key(place, key, below)
        place = below
    _put_key(place, keys[-1], value)
    return root


def update_profile(
    db: Database,
    scope: MemoryScope,
    path: str,
    value: JsonValue,
    source: str,
    now: int,
    origin: Origin = "user",
) -> JsonObject:
    """Set the field at a path (None removes it), store the change, and return the new profile.

    ``origin`` is who wrote the value.

    Raises:
        ProfileError: the path or the value does not fit, or the value is a secret.
    """
    keys, known = parse_path(path), profile.load_profile(db, scope)
    text = _encode_value(value)
    # Checked with its path: "wifi.password" and "hunter2" are a secret only together.
    named = f"{keys[-1] if keys else ''}: {value}" if isinstance(value, str) else text
    if keys != PROMPT and (secret := detect_secret_kind(named) or detect_secret_kind(text)):
        raise ProfileError(f"this looks like {secret}; secrets are never remembered")
    changed = set_value(known, keys, value)
    body = _encode_value(changed)
    if len(body.encode()) > MAX_BYTES:
        raise ProfileError(
            f"a profile must have at most {MAX_BYTES // 1024} KiB; remove something first"
        )
    db.execute(
        "INSERT INTO profile(agent_id, scope, body, updated_at, origins) VALUES(?,?,?,?,?)"
        " ON CONFLICT(agent_id, scope) DO UPDATE SET body = excluded.body,"
        " updated_at = excluded.updated_at, origins = excluded.origins",
        (
            scope.agent_id,
            scope.own_scope,
            body,
            now,
            orjson.dumps(
                _mark_origins(profile.load_origins(db, scope), keys, value, origin)
            ).decode(),
        ),
    )
    before = get_value(known, keys)
    states = (None if before is None else _encode_value(before), None if value is None else text)
    db.execute(
        "INSERT INTO profile_change(agent_id, scope, path, before, after, source, at)"
        " VALUES(?,?,?,?,?,?,?)",
        (scope.agent_id, scope.own_scope, path.strip(), *states, source, now),
    )
    return changed


def list_profile_changes(db: Database, scope: MemoryScope, limit: int) -> list[ProfileChange]:
    where, values = scope.build_profile_condition()
    return CHANGES.select(db, f"{where} ORDER BY id DESC LIMIT ?", *values, limit)


def touches_prompt(path: str) -> bool:
    """Return whether a change at this path can change the agent's base prompt."""
    return is_overlapping(parse_path(path), PROMPT)


def _mark_origins(
    marks: dict[str, Origin], keys: Keys, value: JsonValue, origin: Origin
) -> dict[str, Origin]:
    """Return the paths that others wrote, after a change at ``keys``."""
    below = {path: mark for path, mark in marks.items() if parse_path(path)[: len(keys)] == keys}
    kept = {path: mark for path, mark in marks.items() if path not in below}
    if value is None and keys and isinstance(keys[-1], int):  # the rest of the list moves up
        place = keys[:-1]
        moved = [mark for path, mark in marks.items() if parse_path(path)[: len(place)] == place]
        return {**kept, **({_format_path(place): find_least_trusted(*moved)} if moved else {})}
    return {
        **kept,
        **({_format_path(keys): origin} if origin in UNTRUSTED and value is not None else {}),
    }


def _format_path(keys: Keys) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")


def _encode_value(value: JsonValue) -> str:
    """Encode a value as JSON that can be read again.

    Raises:
        ProfileError: the value is nested too deep, or not valid text.
    """
    try:
        text = orjson.dumps(value).decode()
        _VALUE.validate_json(text)
    except (TypeError, ValueError) as error:
        raise ProfileError(
            "the value is nested too deep, or not valid text; make it simpler"
        ) from error
    return text


def _put_key(place: JsonValue, key: str | int, value: JsonValue) -> None:
    """Set one key of an object or list; None removes it."""
    if isinstance(place, dict) and isinstance(key, str):
        if value is None:
            place.pop(key, None)
        else:
            place[key] = value
    elif isinstance(place, list) and isinstance(key, int) and key <= len(place):
        place[key : key + 1] = [] if value is None else [value]
    elif isinstance(place, list) and isinstance(key, int):
        raise ProfileError(
            f"the list has {len(place)} entries; the next position is [{len(place)}]"
        )
    else:
        kind = "a list" if isinstance(place, list) else "an object"
        what = kind if isinstance(place, list | dict) else "a plain value"
        raise ProfileError(f"{key!r} cannot be set in {what}; look at the profile first")
