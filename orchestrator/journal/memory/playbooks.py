"""Stored playbooks and skills: the bundled defaults, and those of agents and users.

An entry with keywords is a playbook. One without is a skill, listed in the prompt and read on
demand. An agent gets each default once; a changed or deleted default does not come back.

Where each chat has its own memory, a chat sees its own entries and the bundled defaults; its
change of a default is a new entry. It loses only a default that an operator's chat has deleted or
switched off.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache

import orjson
from pydantic import Json, TypeAdapter

from orchestrator.home_paths import find_bundled_path
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from thinker.protocol.messages import LATE, UNTRUSTED, Frozen, JsonObject, Origin
from thinker.protocol.methods import ListedSkill

SEED = "seed"  # the source of the bundled entries


@dataclass(frozen=True)
class StoredPlaybook:
    """A playbook or skill; ``keywords`` are lower case, times in milliseconds.

    ``id`` is meaningless until it is stored. ``source`` is ``seed`` or the author of the last
    change; ``origin`` is whose words that change has.
    """

    id: int
    name: str
    description: str
    instructions: str
    keywords: Json[tuple[str, ...]]
    priority: float
    required_tools: Json[tuple[str, ...]]
    enabled: bool
    source: str
    created_at: int
    origin: Origin = "user"
    scope: str = EVERY


PLAYBOOKS = Rows(StoredPlaybook, "playbook")


class _Seed(Frozen):
    name: str
    description: str
    steps: tuple[str, ...]
    keywords: tuple[str, ...]
    priority: float
    required_tools: tuple[str, ...] = ()


_SEEDS = TypeAdapter(tuple[_Seed, ...], config=LATE)


@lru_cache
def load_default_playbooks() -> tuple[StoredPlaybook, ...]:
    """Return the bundled playbooks that every agent starts with."""
    seeds = _SEEDS.validate_json((find_bundled_path("prompts") / "playbooks.json").read_bytes())
    return tuple(
        StoredPlaybook(
            id=number,
            instructions="\n".join(f"{n}. {step}" for n, step in enumerate(seed.steps, 1)),
            enabled=True,
            source=SEED,
            created_at=0,
            origin="operator",
            **seed.model_dump(exclude={"steps"}),
        )
        for number, seed in enumerate(seeds, 1)
    )


def seed_playbooks(db: Database, agent_id: str, now: int) -> bool:
    """Store the defaults that an agent never had; return whether there were any."""
    unseen = _list_unseen_defaults(db, agent_id)
    for playbook in unseen:
        db.execute("INSERT INTO playbook_seed VALUES(?,?)", (agent_id, playbook.name))
        memory = MemoryScope.for_whole_agent(agent_id)
        if find_playbook(db, memory, playbook.name) is None:
            insert_playbook(db, memory, playbook, now)
    return bool(unseen)


def load_states(db: Database, memory: MemoryScope) -> dict[str, bytes]:
    """Return values that change with the playbooks of every chat, and with the chat's own."""
    sql = "SELECT scope, state FROM playbook_state WHERE agent_id = ? AND scope IN('', ?)"
    rows = db.execute(sql, (memory.agent_id, memory.own_scope))
    return {str(scope): bytes(state) for scope, state in rows}


def list_playbooks(
    db: Database, memory: MemoryScope, globs: Sequence[str] = ("*",)
) -> list[StoredPlaybook]:
    """Return a chat's entries for its next turn that a glob matches, by name."""
    stored = {playbook.name: playbook for playbook in _list_visible(db, memory)}
    unseeded = (
        item for item in _list_unseen_defaults(db, memory.agent_id) if item.name not in stored
    )
    return sorted(
        filter_by_name([*stored.values(), *unseeded], globs), key=lambda playbook: playbook.name
    )


def filter_by_name(
    playbooks: Iterable[StoredPlaybook], globs: Sequence[str]
) -> list[StoredPlaybook]:
    return [item for item in playbooks if any(fnmatchcase(item.name, glob) for glob in globs)]


def find_playbook(db: Database, memory: MemoryScope, name: str) -> StoredPlaybook | None:
    return next(reversed(_list_visible(db, memory, "AND name = ?", name)), None)


def build_worker_records(playbooks: Iterable[StoredPlaybook]) -> tuple[JsonObject, ...]:
    """Return the enabled playbooks with keywords, in the format of the worker."""
    return tuple(
        {
            "id": item.id,
            "name": item.name,
            "description": item.description,
            "instructions": item.instructions,
            "trigger_config": {"keywords": list(item.keywords), "priority": item.priority},
            "required_tools": list(item.required_tools),
            **({"origin": item.origin} if item.origin in UNTRUSTED else {}),
        }
        for item in playbooks
        if item.enabled and item.keywords
    )


def list_skills(playbooks: Iterable[StoredPlaybook]) -> tuple[ListedSkill, ...]:
    """Return the enabled skills, which have no keywords."""
    return tuple(
        ListedSkill(name=item.name, description=item.description, origin=item.origin)
        for item in playbooks
        if item.enabled and not item.keywords
    )


def list_missing_tools(db: Database, turns: int) -> list[tuple[str, str, str]]:
    """Return agent, playbook and tool for each tool that matched playbooks lacked recently.

    ``turns`` is the number of the newest turns to search.
    """
    rows = db.execute(
        "SELECT DISTINCT turn.agent_id, body ->> '$.missing'"
        " FROM (SELECT id, agent_id FROM turn ORDER BY rowid DESC LIMIT ?) AS turn"
        " JOIN turn_prompt ON turn_id = turn.id",
        (turns,),
    )
    lacking = {
        (str(agent), str(playbook), str(tool))
        for agent, missing in rows
        for tool, playbook in orjson.loads(missing or "{}").items()
    }
    return sorted(lacking)


def _list_unseen_defaults(db: Database, agent_id: str) -> list[StoredPlaybook]:
    rows = db.execute("SELECT name FROM playbook_seed WHERE agent_id = ?", (agent_id,))
    seen = {name for (name,) in rows}
    return [playbook for playbook in load_default_playbooks() if playbook.name not in seen]


def _list_visible(
    db: Database, memory: MemoryScope, more: str = "", *values: object
) -> list[StoredPlaybook]:
    """Return the entries that a chat sees; its own come last."""
    where = f"agent_id = ? AND scope IN('{EVERY}', ?) {more} ORDER BY scope, id"
    found = PLAYBOOKS.select(db, where, memory.agent_id, memory.own_scope, *values)
    seen = (item if is_changeable(memory, item) else _find_bundled(item) for item in found)
    return [item for item in seen if item is not None]


def _find_bundled(playbook: StoredPlaybook) -> StoredPlaybook | None:
    """Return an entry as it was bundled, or None if a chat has changed it."""
    if playbook.source == SEED:
        return playbook
    default = next((item for item in load_default_playbooks() if item.name == playbook.name), None)
    return default and replace(default, id=playbook.id, enabled=playbook.enabled)


def is_changeable(memory: MemoryScope, playbook: StoredPlaybook) -> bool:
    """Return whether a change applies to the entry itself, and not to a copy of the chat."""
    return memory.all_chats or playbook.scope == memory.own_scope


def insert_playbook(db: Database, memory: MemoryScope, playbook: StoredPlaybook, now: int) -> None:
    """Insert a playbook or skill whose name is free in this memory."""
    db.execute(
        "INSERT INTO playbook(agent_id, scope, name, description, instructions, keywords, priority,"
        " required_tools, enabled, source, origin, created_at, updated_at) VALUES(:agent_id, :own,"
        " :name, :description, :instructions, :keywords, :priority, :required_tools, :enabled,"
        " :source, :origin, :now, :now)",
        build_row_values(memory, playbook, now),
    )


def build_row_values(memory: MemoryScope, playbook: StoredPlaybook, now: int) -> dict[str, object]:
    """Return the values of a row by the names of its columns, ``own`` and ``now``."""
    return vars(playbook) | {
        "agent_id": memory.agent_id,
        "own": memory.own_scope,
        "keywords": orjson.dumps(playbook.keywords).decode(),
        "required_tools": orjson.dumps(playbook.required_tools).decode(),
        "now": now,
    }
