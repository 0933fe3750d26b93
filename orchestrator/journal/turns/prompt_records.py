"""Prompts sent to models: one record for each process that ran a turn, with its first step.

A record refers to the prompt's definition, its tools and the parts that it shares with the agent's
other prompts; equal parts are stored once.
"""

import hashlib
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from pydantic import Json, TypeAdapter

from orchestrator.journal.db.database import Database, Rows
from thinker.protocol.messages import LATE, JsonObject, LayerRecord, ToolSpec
from thinker.protocol.prompt_record import PromptRecord

TOOLS: TypeAdapter[tuple[ToolSpec, ...]] = TypeAdapter(tuple[ToolSpec, ...], config=LATE)


@dataclass(frozen=True)
class PromptSources:
    """The sources of a prompt: a `PromptBundle` as JSON, and all tools that could be offered.

    ``definition`` is None for an agent without one. All are None if unknown. ``settings`` are those
    of the worker, see `ThinkerSettings.dump_for_record`, of the agent ``agent_id`` of agents.json;
    they are stored with `PromptRecord.playbooks`, as both change with an edit. ``window`` has the
    first and last message ids of the history that is sent with the prompt.
    """

    definition: Json[JsonObject] | None = None
    tools: Json[tuple[ToolSpec, ...]] | None = None
    settings: Json[JsonObject] | None = None
    agent_id: str | None = None
    window: tuple[int, int] | None = None


NO_SOURCES = PromptSources()
# The record's own fields, the shared ones of its long layers by place, and those of its worker.
COLUMNS = (
    "body, (SELECT body FROM prompt_part WHERE digest = common),"
    " (SELECT body FROM prompt_part WHERE digest = settings)"
)
FIRST = "SELECT body FROM turn_prompt WHERE turn_id = ? ORDER BY at LIMIT 1"
COMMON = ("tools", "reasons", "settings", "tools_digest")
NO_WINDOW = (None, None)
LONG = 200  # characters of a layer that is stored once
UNUSED_PARTS = """DELETE FROM prompt_part
WHERE NOT EXISTS(SELECT 1 FROM turn_prompt WHERE definition = digest)
AND NOT EXISTS(SELECT 1 FROM turn_prompt WHERE tools = digest)
AND NOT EXISTS(SELECT 1 FROM turn_prompt WHERE common = digest)
AND NOT EXISTS(SELECT 1 FROM turn_prompt WHERE settings = digest)"""


@dataclass(frozen=True)
class SentPrompt:
    """Which prompt a record is of: that of a turn of a session, sent at a time (milliseconds)."""

    turn_id: str
    at: int
    session_id: int
    started_at: int


class _SharedPart(NamedTuple):
    """A text that prompts share, and the name under which it is stored once."""

    body: bytes
    digest: str


_dumped_tools: deque[tuple[tuple[ToolSpec, ...], _SharedPart]] = deque(maxlen=16)
SOURCES = Rows(
    PromptSources,
    "turn_prompt",
    "(SELECT body FROM prompt_part WHERE digest = definition),"
    " (SELECT body FROM prompt_part WHERE digest = tools),"
    " (SELECT body FROM prompt_part WHERE digest = settings), agent_id",
)


def record_prompt(
    db: Database, sent: SentPrompt, prompt: PromptRecord, sources: PromptSources = NO_SOURCES
) -> tuple[str, ...]:
    """Store a prompt; return the differences of its stable part from the session's last one."""
    found = _find_earlier_prompt(
        db, "turn_id, at, json_extract(body, '$.stable'), definition, tools, common, settings", sent
    )
    changed: tuple[str, ...] = ()
    if found is not None and found[2] != prompt.stable:
        changed = prompt.find_differences(dict(list_prompts_of_turn(db, found[0]))[found[1]])
    own = prompt.model_dump(mode="json", exclude_defaults=True) | {"changed": changed}
    common = {name: own.pop(name) for name in COMMON if name in own}
    common["texts"] = {
        str(place): layer.pop("text")
        for place, layer in enumerate(own["layers"])
        if not (layer.get("volatile") or layer.get("quoted")) and len(layer["text"]) > LONG
    }
    settings = sources.settings
    if settings is not None:
        settings = {**settings, "playbooks": own.pop("playbooks", {})}
    tools = None if sources.tools is None else _dump_tools(sources.tools)
    definition = _dump_part(sources.definition)
    parts = definition, tools, _build_part(orjson.dumps(common)), _dump_part(settings)
    stored = found[3:] if found else ()
    for part in parts:
        if part is not None and part.digest not in stored:
            new = "INSERT INTO prompt_part VALUES(?,?) ON CONFLICT DO NOTHING"
            db.execute(new, (part.digest, part.body.decode()))
    digests = [part and part.digest for part in parts]
    values = sent.turn_id, sent.at, orjson.dumps(own).decode(), *digests
    db.execute(
        "INSERT INTO turn_prompt(turn_id, at, body, definition, tools, common, settings, agent_id,"
        " history_first, history_last) VALUES(?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
        (*values, sources.agent_id, *(sources.window or NO_WINDOW)),
    )
    return changed


def load_prompt_sources(db: Database, turn_id: str, at: int) -> PromptSources:
    return SOURCES.select(db, "turn_id = ? AND at = ?", turn_id, at)[0]


def find_history_window(db: Database, turn_id: str, at: int) -> tuple[int, int] | None:
    """Return the first and last message ids of a prompt's history.

    None without a recorded history.
    """
    sql = "SELECT history_first, history_last FROM turn_prompt WHERE turn_id = ? AND at = ?"
    found = db.execute(sql, (turn_id, at)).fetchone()
    return None if found is None or found[0] is None else (int(found[0]), int(found[1]))


def find_context_layers(db: Database, turn_id: str) -> tuple[LayerRecord, ...] | None:
    """Return the layers before a turn's newest message; None before the first prompt."""
    body = db.execute(FIRST, (turn_id,)).get
    if body is None:
        return None
    own = orjson.loads(body)  # it has all of `PromptRecord.context`
    cached = own.get("layout") == "cached"
    beside = [x for x in own["layers"] if x.get("quoted") or (cached and x.get("volatile"))]
    return tuple([LayerRecord.model_validate(x) for x in beside if not x.get("standing")])


def list_offered_tools(
    db: Database, session_id: int, started: int, turn_id: str
) -> tuple[str, ...]:
    earlier = _find_earlier_prompt(db, COLUMNS, SentPrompt(turn_id, 0, session_id, started))
    return () if earlier is None else _parse_record(*earlier).tools


def find_told_summary(db: Database, message_id: int) -> str | None:
    """Return the summary in the prompt of a message's turn, without its heading."""
    turn_id = db.execute("SELECT turn_id FROM message WHERE id = ?", (message_id,)).get
    layers = [x for _, record in list_prompts_of_turn(db, turn_id) for x in record.layers]
    return next((x.text.partition("\n")[2] for x in layers if x.name == "summary"), None)


def list_prompts_of_turn(db: Database, turn_id: str) -> list[tuple[int, PromptRecord]]:
    """Return the prompts of a turn and their times (milliseconds), in order."""
    sql = f"SELECT at, {COLUMNS} FROM turn_prompt WHERE turn_id = ? ORDER BY at"
    return [(at, _parse_record(*parts)) for at, *parts in db.execute(sql, (turn_id,))]


def replace_part(db: Database, digest: str, body: str) -> None:
    """Replace a part that prompts share by another text."""
    part = _build_part(body.encode())
    db.execute("INSERT INTO prompt_part VALUES(?,?) ON CONFLICT DO NOTHING", (part.digest, body))
    db.execute("UPDATE turn_prompt SET common = ? WHERE common = ?", (part.digest, digest))
    delete_unused_parts(db)


def delete_unused_parts(db: Database) -> None:
    """Delete the shared parts that no record refers to any more."""
    db.execute(UNUSED_PARTS)


def _find_earlier_prompt(db: Database, columns: str, sent: SentPrompt) -> tuple[Any, ...] | None:
    """Return columns of the session's last prompt before another turn."""
    found: tuple[Any, ...] | None = db.execute(
        f"SELECT {columns} FROM turn JOIN turn_prompt ON turn_id = turn.id WHERE session_id = ?"
        " AND started_at <= ? AND turn.id <> ? ORDER BY started_at DESC, turn.rowid DESC, at DESC"
        " LIMIT 1",
        (sent.session_id, sent.started_at, sent.turn_id),
    ).fetchone()
    return found


def _parse_record(body: str, common: str | None, settings: str | None) -> PromptRecord:
    own, shared = orjson.loads(body), orjson.loads(common or "{}")
    shared["playbooks"] = orjson.loads(settings or "{}").get("playbooks", {})
    texts = shared.get("texts", {})
    layers = [{"text": texts.get(str(place), ""), **x} for place, x in enumerate(own["layers"])]
    return PromptRecord.model_validate({**shared, **own, "layers": layers})


def _dump_tools(tools: tuple[ToolSpec, ...]) -> _SharedPart:
    for known, part in (*_dumped_tools,):
        if known is tools:  # an agent's are the same in each turn
            return part
    part = _build_part(TOOLS.dump_json(tools))
    _dumped_tools.append((tools, part))
    return part


def _dump_part(value: JsonObject | None) -> _SharedPart | None:
    return None if value is None else _build_part(orjson.dumps(value))


def _build_part(body: bytes) -> _SharedPart:
    return _SharedPart(body, hashlib.sha256(body).hexdigest()[:32])  # short, as in three indexes
