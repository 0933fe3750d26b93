"""Prompts sent to models: one record for each process that ran a turn, with its first step.

A record refers to the sources of the prompt, its definition and its tools, and to what it has in
common with most of its agent's; equal ones are stored once.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import apsw
import orjson
from pydantic import Json, TypeAdapter

from orchestrator.journal.db.rows import Rows
from thinker.protocol.messages import LATE, JsonObject, LayerRecord, ToolSpec
from thinker.protocol.prompt_record import PromptRecord

TOOLS: TypeAdapter[tuple[ToolSpec, ...]] = TypeAdapter(tuple[ToolSpec, ...], config=LATE)


@dataclass(frozen=True)
class PromptSources:
    """The sources of a prompt: a `PromptBundle` as JSON, and all tools that could be offered.

    ``definition`` is None for an agent without one. Both are None if they are not known.
    """

    definition: Json[JsonObject] | None = None
    tools: Json[tuple[ToolSpec, ...]] | None = None


NO_SOURCES = PromptSources()
COLUMNS = (  # for `StoredPrompt.read`
    "body, (SELECT body FROM prompt_part WHERE digest = common), definition, tools, common"
)
COMMON = ("tools", "reasons", "settings", "tools_digest")
LONG = 200  # characters of a layer that is stored once


@dataclass(frozen=True)
class StoredPrompt:
    """A record in two parts: its ``own``, whose fields count, and what others have in common.

    The latter has the texts of the long layers that stay the same, by their places.
    """

    own: dict[str, Any]
    common: dict[str, Any]
    digests: Collection[str | None] = ()  # of the parts that are stored for it

    @classmethod
    def of(cls, prompt: PromptRecord) -> "StoredPrompt":
        own = prompt.model_dump(mode="json", exclude_defaults=True)
        common = {name: own.pop(name) for name in COMMON if name in own}
        common["texts"] = {
            str(place): layer.pop("text")
            for place, layer in enumerate(own["layers"])
            if not layer.get("volatile") and len(layer["text"]) > LONG
        }
        return cls(own, common)

    @classmethod
    def read(cls, body: str, common: str | None, *digests: str | None) -> "StoredPrompt":
        return cls(orjson.loads(body), {} if common is None else orjson.loads(common), digests)

    @property
    def record(self) -> PromptRecord:
        texts = self.common.get("texts", {})
        layers = [{"text": texts.get(str(n), ""), **x} for n, x in enumerate(self.own["layers"])]
        return PromptRecord.model_validate({**self.common, **self.own, "layers": layers})

    @property
    def context(self) -> tuple[LayerRecord, ...]:
        """As `PromptRecord.context`, which needs few layers and mostly none."""
        cached = self.own.get("layout") == "cached"
        beside = any(x.get("quoted") or (cached and x.get("volatile")) for x in self.own["layers"])
        return self.record.context if beside else ()


@dataclass(frozen=True)
class SentPrompt:
    """Which prompt a record is of: that of a turn of a session, sent at a time (milliseconds)."""

    turn_id: str
    at: int
    session_id: int
    started_at: int


SOURCES = Rows(
    PromptSources,
    "turn_prompt",
    "(SELECT body FROM prompt_part WHERE digest = definition),"
    " (SELECT body FROM prompt_part WHERE digest = tools)",
)


def record(
    db: apsw.Connection, sent: SentPrompt, prompt: PromptRecord, sources: PromptSources = NO_SOURCES
) -> tuple[str, ...]:
    """Store a prompt, and return what its stable part differs in from the session's last one."""
    earlier = _before(db, sent.session_id, sent.started_at, sent.turn_id)
    changed: tuple[str, ...] = ()
    if earlier is not None and earlier.own.get("stable") != prompt.stable:
        changed = prompt.differences(earlier.record)
    kept = StoredPrompt.of(prompt.model_copy(update={"changed": changed}))
    definition = None if sources.definition is None else orjson.dumps(sources.definition)
    tools = None if sources.tools is None else TOOLS.dump_json(sources.tools)
    stored = () if earlier is None else earlier.digests
    parts = [_part(db, p, stored) for p in (definition, tools, orjson.dumps(kept.common))]
    db.execute(
        "INSERT OR IGNORE INTO turn_prompt(turn_id, at, body, definition, tools, common)"
        " VALUES(?,?,?,?,?,?)",
        (sent.turn_id, sent.at, orjson.dumps(kept.own).decode(), *parts),
    )
    return changed


def ingredients(db: apsw.Connection, turn_id: str, at: int) -> PromptSources:
    return SOURCES.select(db, "turn_id = ? AND at = ?", turn_id, at)[0]


def last_use(db: apsw.Connection, name: str) -> tuple[str, int] | None:
    """Return the newest prompt with a definition, of the agent or the definition of this name.

    Returns the turn and the time at which it sent that prompt, as a handoff within a turn changes
    the definition.
    """
    found = db.execute(
        "SELECT turn_id, at FROM turn_prompt JOIN turn ON turn.id = turn_id"
        " JOIN prompt_part ON digest = definition"
        " WHERE agent_id = ?1 OR json_extract(prompt_part.body, '$.name') = ?1"
        " ORDER BY at DESC LIMIT 1",
        (name,),
    ).fetchone()
    return None if found is None else (str(found[0]), int(found[1]))


def sent(db: apsw.Connection, turn_id: str) -> tuple[LayerRecord, ...] | None:
    """Return the layers put before a turn's newest message; None before the first prompt."""
    found = _stored(db, "turn_prompt WHERE turn_id = ? ORDER BY at LIMIT 1", turn_id)
    return None if found is None else found.context


def offered(db: apsw.Connection, session_id: int, started: int, turn_id: str) -> tuple[str, ...]:
    earlier = _before(db, session_id, started, turn_id)
    return () if earlier is None else earlier.record.tools


def of_turn(db: apsw.Connection, turn_id: str) -> list[tuple[int, PromptRecord]]:
    """Return the prompts of a turn and when they were sent (milliseconds), in order."""
    sql = f"SELECT at, {COLUMNS} FROM turn_prompt WHERE turn_id = ? ORDER BY at"
    rows = list(db.execute(sql, (turn_id,)))
    return [(at, StoredPrompt.read(*row).record) for at, *row in rows]


def _before(
    db: apsw.Connection, session_id: int, started: int, turn_id: str
) -> "StoredPrompt | None":
    return _stored(
        db,
        "turn JOIN turn_prompt ON turn_id = turn.id WHERE session_id = ?"
        " AND started_at <= ? AND turn.id <> ? ORDER BY started_at DESC, turn.rowid DESC, at DESC"
        " LIMIT 1",
        *(session_id, started, turn_id),
    )


def _stored(db: apsw.Connection, source: str, *values: object) -> "StoredPrompt | None":
    row = db.execute(f"SELECT {COLUMNS} FROM {source}", values).fetchone()
    return None if row is None else StoredPrompt.read(*row)


def _part(db: apsw.Connection, body: bytes | None, stored: Collection[str | None]) -> str | None:
    """Store a text that prompts share, unless it is among the ``stored``; return its digest."""
    if body is None:
        return None
    digest = hashlib.sha256(body).hexdigest()
    if digest not in stored:
        db.execute("INSERT OR IGNORE INTO prompt_part VALUES(?,?)", (digest, body.decode()))
    return digest
