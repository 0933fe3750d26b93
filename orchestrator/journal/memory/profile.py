"""The profile: an agent's knowledge about its user in named fields, with a history of changes.

A path names a field: ``persona.system_prompt``, ``contacts[0].name``. The text at
``persona.system_prompt`` replaces the agent's base prompt.
"""

import re
from collections.abc import Sequence
from typing import TypeAlias

from pydantic import JsonValue, TypeAdapter

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.messages import (
    LATE,
    OBJECT,
    JsonObject,
    Origin,
    find_least_trusted,
)

MAX_DEPTH = 16  # keys of a path
MAX_PATH = 2000  # characters
SEGMENT = re.compile(r"([^.\[\]]{1,100})((?:\[\d{1,4}\])*)")
PROMPT = ("persona", "system_prompt")

Keys: TypeAlias = Sequence[str | int]
_ORIGINS: TypeAdapter[dict[str, Origin]] = TypeAdapter(dict[str, Origin], config=LATE)


class ProfileError(OrchestratorError):
    """A path or a value does not fit the profile."""


def parse_path(path: str) -> tuple[str | int, ...]:
    """Split a path into names and list indexes; an empty path has none.

    Raises:
        ProfileError: the path is invalid.
    """
    if len(path) > MAX_PATH:
        raise ProfileError(f"a path must have at most {MAX_PATH} characters; choose a shorter one")
    keys: list[str | int] = []
    for part in path.strip().split(".") if path.strip() else ():
        segment = SEGMENT.fullmatch(part.strip())
        if segment is None:
            raise ProfileError(f"{path!r} is not a path; write one such as persona.name or pets[0]")
        keys += [segment[1].strip(), *map(int, re.findall(r"\d+", segment[2]))]
    if len(keys) > MAX_DEPTH:
        raise ProfileError(f"a path must have at most {MAX_DEPTH} keys; choose a shorter one")
    return tuple(keys)


def get_value(profile: JsonValue, keys: Keys) -> JsonValue:
    for key in keys:
        if isinstance(profile, dict) and isinstance(key, str):
            profile = profile.get(key)
        elif isinstance(profile, list) and isinstance(key, int) and key < len(profile):
            profile = profile[key]
        else:
            return None
    return profile


def load_profile(db: Database, scope: MemoryScope) -> JsonObject:
    """Return the profile of a chat, or before it has one, that of every chat if visible."""
    body, _ = _load_stored_profile(db, scope)
    return OBJECT.validate_json(body)


def find_system_prompt(db: Database, scope: MemoryScope) -> str | None:
    """Return ``persona.system_prompt`` of a profile, or None if it is empty."""
    prompt = get_value(load_profile(db, scope), PROMPT)
    return prompt if isinstance(prompt, str) and prompt.strip() else None


def load_value_origin(db: Database, scope: MemoryScope, keys: Keys) -> Origin:
    """Return the least trusted origin of the value at a path."""
    marks = load_origins(db, scope).items()
    return find_least_trusted(
        "user", *(mark for path, mark in marks if is_overlapping(parse_path(path), keys))
    )


def load_origins(db: Database, scope: MemoryScope) -> dict[str, Origin]:
    _, origins = _load_stored_profile(db, scope)
    return _ORIGINS.validate_json(origins)


def _load_stored_profile(db: Database, scope: MemoryScope) -> tuple[str, str]:
    """Return the profile that a chat sees, and the origins by path, as JSON."""
    where, values = scope.build_profile_condition()
    sql = f"SELECT body, origins FROM profile WHERE {where} ORDER BY scope DESC LIMIT 1"
    body, origins = db.execute(sql, values).fetchone() or ("{}", "{}")
    return str(body), str(origins)


def is_overlapping(one: Keys, other: Keys) -> bool:
    shorter = min(len(one), len(other))
    return tuple(one[:shorter]) == tuple(other[:shorter])
