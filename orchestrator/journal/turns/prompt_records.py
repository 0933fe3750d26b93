"""Prompts sent to models: one record for each process that ran a turn, with its first step.

A record refers to the sources of the prompt, its definition and its tools, and to what it has in
common with most of its agent's; equal ones are stored once.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from pydantic import Json, TypeAdapter

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.rows import Rows
from thinker.protocol.messages import LATE, JsonObject, LayerRecord, ToolSpec
from thinker.protocol.prompt_record import PromptRecord

TOOLS: TypeAdapter[tuple[ToolSpec, ...]] = TypeAdapter(tuple[ToolSpec, ...], config=LATE)


@dataclass(frozen=True)
class PromptSources:
    """The sources of a prompt: a `PromptBundle` as JSON, and all tools that could be offered.

    ``definition`` is None for an agent without one. Both are None if they are not known. ``window``
    has the ids of the first and the last message of the history that is sent with the prompt.
    """

    definition: Json[JsonObject] | None = None
    tools: Json[tuple[ToolSpec, ...]] | None = None
    window: tuple[int, int] | None = None


NO_SOURCES = PromptSources()
# The record's own fields, and those that it has in common with others, of its long layers by place.
COLUMNS = "body, (SELECT body FROM prompt_part WHERE digest = common)"
COMMON = ("tools", "reasons", "settings", "tools_digest")
NO_WINDOW = (None, None)
LONG = 200  # characters of a layer that is stored once


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
    db: Database, sent: SentPrompt, prompt: PromptRecord, sources: PromptSources = NO_SOURCES
) -> tuple[str, ...]:
    """Store a prompt, and return what its stable part differs in from the session's last one."""
    found = _before(
        db, "turn_id, at, json_extract(body, '$.stable'), definition, tools, common", sent
    )
    changed: tuple[str, ...] = ()
    if found is not None and found[2] != prompt.stable:
        changed = prompt.differences(dict(of_turn(db, found[0]))[found[1]])
    own = prompt.model_dump(mode="json", exclude_defaults=True) | {"changed": changed}
    common = {name: own.pop(name) for name in COMMON if name in own}
    common["texts"] = {
        str(place): layer.pop("text")
        for place, layer in enumerate(own["layers"])
        if not (layer.get("volatile") or layer.get("quoted")) and len(layer["text"]) > LONG
    }
    definition = None if sources.definition is None else orjson.dumps(sources.definition)
    tools = None if sources.tools is None else _dumped(sources.tools)
    stored = found[3:] if found else ()
    parts = [_part(db, part, stored) for part in (definition, tools, orjson.dumps(common))]
    db.execute(
        "INSERT INTO turn_prompt(turn_id, at, body, definition, tools, common,"
        " history_first, history_last) VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
        (sent.turn_id, sent.at, orjson.dumps(own).decode(), *parts, *(sources.window or NO_WINDOW)),
    )
    return changed


def ingredients(db: Database, turn_id: str, at: int) -> PromptSources:
    return SOURCES.select(db, "turn_id = ? AND at = ?", turn_id, at)[0]


def window(db: Database, turn_id: str, at: int) -> tuple[int, int] | None:
    """Return the ids of the first and the last message of the history that a prompt was sent with.

    None if there was no history, or it was not recorded.
    """
    sql = "SELECT history_first, history_last FROM turn_prompt WHERE turn_id = ? AND at = ?"
    found = db.execute(sql, (turn_id, at)).fetchone()
    return None if found is None or found[0] is None else (int(found[0]), int(found[1]))


def last_use(db: Database, name: str) -> tuple[str, int] | None:
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


def sent(db: Database, turn_id: str) -> tuple[LayerRecord, ...] | None:
    """Return the layers put before a turn's newest message; None before the first prompt."""
    sql = "SELECT body FROM turn_prompt WHERE turn_id = ? ORDER BY at LIMIT 1"
    body = db.execute(sql, (turn_id,)).get
    if body is None:
        return None
    own = orjson.loads(body)  # it has all of `PromptRecord.context`
    cached = own.get("layout") == "cached"
    beside = (x for x in own["layers"] if x.get("quoted") or (cached and x.get("volatile")))
    return tuple(LayerRecord.model_validate(x) for x in beside if not x.get("standing"))


def offered(db: Database, session_id: int, started: int, turn_id: str) -> tuple[str, ...]:
    earlier = _before(db, COLUMNS, SentPrompt(turn_id, 0, session_id, started))
    return () if earlier is None else _record(*earlier).tools


def of_turn(db: Database, turn_id: str) -> list[tuple[int, PromptRecord]]:
    """Return the prompts of a turn and when they were sent (milliseconds), in order."""
    sql = f"SELECT at, {COLUMNS} FROM turn_prompt WHERE turn_id = ? ORDER BY at"
    return [(at, _record(*parts)) for at, *parts in db.execute(sql, (turn_id,))]


def _before(db: Database, columns: str, sent: SentPrompt) -> tuple[Any, ...] | None:
    """Return columns of the session's last prompt before the turn of another."""
    found: tuple[Any, ...] | None = db.execute(
        f"SELECT {columns} FROM turn JOIN turn_prompt ON turn_id = turn.id WHERE session_id = ?"
        " AND started_at <= ? AND turn.id <> ? ORDER BY started_at DESC, turn.rowid DESC, at DESC"
        " LIMIT 1",
        (sent.session_id, sent.started_at, sent.turn_id),
    ).fetchone()
    return found


def _record(body: str, common: str | None) -> PromptRecord:
    own, shared = orjson.loads(body), orjson.loads(common or "{}")
    texts = shared.get("texts", {})
    layers = [{"text": texts.get(str(place), ""), **x} for place, x in enumerate(own["layers"])]
    return PromptRecord.model_validate({**shared, **own, "layers": layers})


@lru_cache(maxsize=16)  # an agent's are the same in each turn
def _dumped(tools: tuple[ToolSpec, ...]) -> bytes:
    return TOOLS.dump_json(tools)


def _part(db: Database, body: bytes | None, stored: Collection[str | None]) -> str | None:
    """Store a text that prompts share, unless it is among the ``stored``; return its digest."""
    if body is None:
        return None
    digest = hashlib.sha256(body).hexdigest()[:32]  # short, as three indexes have it
    if digest not in stored:
        new = "INSERT INTO prompt_part VALUES(?,?) ON CONFLICT DO NOTHING"
        db.execute(new, (digest, body.decode()))
    return digest
