"""Prompts sent to models: one record for each process that ran a turn, with its first step.

A record refers to the sources of the prompt, its definition and its tools; equal sources are
stored once.
"""

import hashlib
from dataclasses import dataclass

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


@dataclass(frozen=True)
class TurnPrompt:
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
    db: apsw.Connection, sent: TurnPrompt, prompt: PromptRecord, sources: PromptSources = NO_SOURCES
) -> tuple[str, ...]:
    """Store a prompt, and return what its stable part differs in from the session's last one."""
    earlier = _before(db, sent.session_id, sent.started_at, sent.turn_id)
    changed = () if earlier is None else prompt.differences(earlier)
    kept = prompt.model_copy(update={"changed": changed})
    definition = None if sources.definition is None else orjson.dumps(sources.definition)
    tools = None if sources.tools is None else TOOLS.dump_json(sources.tools)
    parts = (_part(db, definition), _part(db, tools))
    db.execute(
        "INSERT OR IGNORE INTO turn_prompt(turn_id, at, body, definition, tools) VALUES(?,?,?,?,?)",
        (sent.turn_id, sent.at, kept.model_dump_json(), *parts),
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
    body = db.execute(
        "SELECT body FROM turn_prompt WHERE turn_id = ? ORDER BY at LIMIT 1", (turn_id,)
    ).get
    return None if body is None else PromptRecord.model_validate_json(str(body)).context


def offered(db: apsw.Connection, session_id: int, started: int, turn_id: str) -> tuple[str, ...]:
    earlier = _before(db, session_id, started, turn_id)
    return () if earlier is None else earlier.tools


def _before(
    db: apsw.Connection, session_id: int, started: int, turn_id: str
) -> PromptRecord | None:
    body = db.execute(
        "SELECT body FROM turn JOIN turn_prompt ON turn_id = turn.id WHERE session_id = ?"
        " AND started_at <= ? AND turn.id <> ? ORDER BY started_at DESC, turn.rowid DESC, at DESC"
        " LIMIT 1",
        (session_id, started, turn_id),
    ).get
    return None if body is None else PromptRecord.model_validate_json(str(body))


def _part(db: apsw.Connection, body: bytes | None) -> str | None:
    """Store a text that prompts share, once, and return its digest."""
    if body is None:
        return None
    digest = hashlib.sha256(body).hexdigest()
    db.execute("INSERT OR IGNORE INTO prompt_part VALUES(?,?)", (digest, body.decode()))
    return digest
