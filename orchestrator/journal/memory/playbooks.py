"""Playbooks and skills in the journal: the bundled defaults, and those made by agents and users.

An entry with keywords is a playbook. One without is a skill, listed in the prompt and read on
demand. An agent gets each default once; a changed or deleted default does not come back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

import apsw
import orjson
from pydantic import Json, TypeAdapter

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.rows import Rows
from orchestrator.settings import bundled
from thinker.protocol.messages import Frozen, JsonObject, Origin
from thinker.protocol.methods import ListedSkill

MAX_BYTES = 2 * 1024 * 1024  # of all entries of an agent, as each turn sends them to its worker


class PlaybookError(OrchestratorError):
    """A playbook or skill cannot be stored."""


@dataclass(frozen=True)
class StoredPlaybook:
    """A playbook or skill; ``keywords`` are lower case, times in milliseconds.

    ``id`` is meaningless until it is stored. ``source`` is ``seed`` or the author of the last
    change, ``origin`` whose words that change has.
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


PLAYBOOKS = Rows(StoredPlaybook, "playbook")


class _Seed(Frozen):
    name: str
    description: str
    steps: tuple[str, ...]
    keywords: tuple[str, ...]
    priority: float
    required_tools: tuple[str, ...] = ()


_SEEDS = TypeAdapter(tuple[_Seed, ...])


@lru_cache
def defaults() -> tuple[StoredPlaybook, ...]:
    """Return the bundled playbooks that every agent begins with."""
    seeds = _SEEDS.validate_json((bundled("prompts") / "playbooks.json").read_bytes())
    return tuple(
        StoredPlaybook(
            id=number,
            instructions="\n".join(f"{n}. {step}" for n, step in enumerate(seed.steps, 1)),
            enabled=True,
            source="seed",
            created_at=0,
            origin="operator",
            **seed.model_dump(exclude={"steps"}),
        )
        for number, seed in enumerate(seeds, 1)
    )


def seed(db: apsw.Connection, agent_id: str, now: int) -> None:
    """Store the defaults that an agent has never had."""
    for playbook in _unseen(db, agent_id):
        db.execute("INSERT INTO playbook_seed VALUES(?,?)", (agent_id, playbook.name))
        if get(db, agent_id, playbook.name) is None:
            _insert(db, agent_id, playbook, now)


def state(db: apsw.Connection, agent_id: str) -> bytes | None:
    """Return a value that changes with every change of an agent's playbooks; None without any."""
    sql = "SELECT state FROM playbook_state WHERE agent_id = ?"
    found: bytes | None = db.execute(sql, (agent_id,)).get
    return found


def every(
    db: apsw.Connection, agent_id: str, globs: Sequence[str] = ("*",)
) -> list[StoredPlaybook]:
    """Return the entries that an agent has at its next turn and a glob matches, by name."""
    stored = PLAYBOOKS.select(db, "agent_id = ?", agent_id)
    names = {playbook.name for playbook in stored}
    unseeded = [playbook for playbook in _unseen(db, agent_id) if playbook.name not in names]
    return sorted(named(stored + unseeded, globs), key=lambda playbook: playbook.name)


def named(playbooks: Iterable[StoredPlaybook], globs: Sequence[str]) -> list[StoredPlaybook]:
    return [item for item in playbooks if any(fnmatchcase(item.name, glob) for glob in globs)]


def get(db: apsw.Connection, agent_id: str, name: str) -> StoredPlaybook | None:
    return PLAYBOOKS.first(db, "agent_id = ? AND name = ?", agent_id, name)


def add(db: apsw.Connection, agent_id: str, playbook: StoredPlaybook, now: int) -> None:
    """Store a new playbook or skill.

    Raises:
        PlaybookError: the name is taken, or all together exceed `MAX_BYTES`.
    """
    if get(db, agent_id, playbook.name) is not None:
        raise PlaybookError(f"{playbook.name!r} exists already; change it with update_skill")
    _insert(db, agent_id, playbook, now)
    _check_size(db, agent_id)


def update(db: apsw.Connection, agent_id: str, playbook: StoredPlaybook, now: int) -> None:
    """Replace a playbook or skill, found by its id.

    Raises:
        PlaybookError: all together exceed `MAX_BYTES`.
    """
    db.execute(
        "UPDATE playbook SET description = :description, instructions = :instructions,"
        " keywords = :keywords, priority = :priority, required_tools = :required_tools,"
        " enabled = :enabled, source = :source, origin = :origin, updated_at = :now"
        " WHERE agent_id = :agent_id AND id = :id",
        _values(agent_id, playbook, now),
    )
    _check_size(db, agent_id)


def delete(db: apsw.Connection, agent_id: str, name: str) -> bool:
    db.execute("DELETE FROM playbook WHERE agent_id = ? AND name = ?", (agent_id, name))
    return db.changes() == 1


def records(playbooks: Iterable[StoredPlaybook]) -> tuple[JsonObject, ...]:
    """Return the enabled playbooks with keywords, in the format of the worker."""
    return tuple(
        {
            "id": item.id,
            "name": item.name,
            "description": item.description,
            "instructions": item.instructions,
            "trigger_config": {"keywords": list(item.keywords), "priority": item.priority},
            "required_tools": list(item.required_tools),
        }
        for item in playbooks
        if item.enabled and item.keywords
    )


def listed(playbooks: Iterable[StoredPlaybook]) -> tuple[ListedSkill, ...]:
    """Return the enabled skills, which have no keywords."""
    return tuple(
        ListedSkill(name=item.name, description=item.description)
        for item in playbooks
        if item.enabled and not item.keywords
    )


def missing_tools(db: apsw.Connection, turns: int) -> list[tuple[str, str, str]]:
    """Return agent, playbook and tool for each tool that matched playbooks lacked lately.

    ``turns`` is the number of the newest turns to search.
    """
    rows = db.execute(
        "SELECT DISTINCT agent_id, tool.value, tool.key"
        " FROM (SELECT id, agent_id FROM turn ORDER BY rowid DESC LIMIT ?) AS turn"
        " JOIN turn_prompt ON turn_id = turn.id, json_each(body, '$.missing') AS tool"
        " ORDER BY 1, 2, 3",
        (turns,),
    )
    return [(str(agent), str(playbook), str(tool)) for agent, playbook, tool in rows]


def _unseen(db: apsw.Connection, agent_id: str) -> list[StoredPlaybook]:
    rows = db.execute("SELECT name FROM playbook_seed WHERE agent_id = ?", (agent_id,))
    seen = {name for (name,) in rows}
    return [playbook for playbook in defaults() if playbook.name not in seen]


def _insert(db: apsw.Connection, agent_id: str, playbook: StoredPlaybook, now: int) -> None:
    db.execute(
        "INSERT INTO playbook(agent_id, name, description, instructions, keywords, priority,"
        " required_tools, enabled, source, origin, created_at, updated_at) VALUES(:agent_id, :name,"
        " :description, :instructions, :keywords, :priority, :required_tools, :enabled, :source,"
        " :origin, :now, :now)",
        _values(agent_id, playbook, now),
    )


def _values(agent_id: str, playbook: StoredPlaybook, now: int) -> dict[str, object]:
    return vars(playbook) | {
        "agent_id": agent_id,
        "keywords": orjson.dumps(playbook.keywords).decode(),
        "required_tools": orjson.dumps(playbook.required_tools).decode(),
        "now": now,
    }


def _check_size(db: apsw.Connection, agent_id: str) -> None:
    size = db.execute(
        "SELECT sum(octet_length(description) + octet_length(instructions)"
        " + octet_length(keywords) + octet_length(required_tools))"
        " FROM playbook WHERE agent_id = ?",
        (agent_id,),
    ).get
    if size > MAX_BYTES:
        raise PlaybookError(
            f"all skills together have at most {MAX_BYTES // 1024} KiB; delete or shorten one first"
        )
