"""Find turns by subject and outcome, newest first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import orjson
from pydantic import BeforeValidator

from orchestrator.journal.db.database import Database, Rows

PAGE = 50  # turns
MAX_SEARCHED = 20_000  # newest turns that a filter looks through
NEWEST = "SELECT id FROM turn WHERE id < :before ORDER BY id DESC LIMIT :most"
LOOKED_AT = f"SELECT count(*), min(id) FROM ({NEWEST}) AS newest WHERE {{}}"
MATCHES = f"""SELECT id FROM turn WHERE id IN(SELECT id FROM ({NEWEST}) AS newest) AND {{}}
ORDER BY id DESC LIMIT :page"""
# When a turn was requested: its sender has waited since then.
ASKED = "ifnull((SELECT min(received_at) FROM inbox WHERE turn_id = turn.id), started_at)"
# What each filter compares with its value.
FILTERS = {
    "agent": "agent_id = :value",
    "chat": "instr(chat_key, :value) > 0",
    "state": "(state = :value OR stop_reason = :value)",
    "tool": "EXISTS(SELECT 1 FROM step WHERE turn_id = turn.id AND name = :value)",
    "model": "EXISTS(SELECT 1 FROM model_call WHERE turn_id = turn.id AND model = :value)",
    "longer": f"ended_at - {ASKED} > 1000 * :value",
    "dearer": "(SELECT ifnull(sum(usd), 0.0) FROM model_call WHERE turn_id = turn.id) > :value",
    "text": (
        "EXISTS(SELECT 1 FROM inbox WHERE turn_id = turn.id AND instr(lower(text), :value) > 0)"
    ),
}


def _split_lines(text: str | None) -> list[str]:
    return text.split("\n") if text else []


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _lower_ascii(text: str) -> str:
    """Lower-case text as SQLite's `lower` does: only ASCII letters."""
    return text.encode().lower().decode()


# What a filter compares with instead of the text itself.
READ: Mapping[str, Callable[[str], object]] = {
    "longer": _parse_number,
    "dearer": _parse_number,
    "text": _lower_ascii,
}


@dataclass(frozen=True)
class FoundTurn:
    """A turn in the list; times in milliseconds, ``usd`` is None without a known price."""

    id: str
    agent_id: str
    chat_key: str
    recipe: str
    state: str
    stop_reason: str | None
    began: int
    ended: int | None
    repaired: bool
    asked: str
    tools: Annotated[tuple[str, ...], BeforeValidator(_split_lines)]
    steps: int
    deaths: int
    unconfirmed: int
    approvals: int
    tokens: int
    cached: int
    usd: float | None


TURNS = Rows(
    FoundTurn,
    "turn",
    f"id, agent_id, chat_key, recipe, state, stop_reason, {ASKED}, ended_at, repaired,"
    " ifnull((SELECT substr(text, 1, 300) FROM inbox WHERE turn_id = turn.id ORDER BY id LIMIT 1),"
    "   ''),"
    " (SELECT string_agg(name, '\n') FROM (SELECT name FROM step WHERE turn_id = turn.id"
    "   AND kind = 'tool' ORDER BY seq LIMIT 20) AS called),"
    " (SELECT count(*) FROM step WHERE turn_id = turn.id),"
    " (SELECT ifnull(max(claims), 0) FROM inbox WHERE turn_id = turn.id),"
    " (SELECT count(*) FROM step WHERE turn_id = turn.id AND state = 'unknown'),"
    " (SELECT count(*) FROM approval WHERE turn_id = turn.id),"
    " (SELECT ifnull(sum(prompt + completion), 0) FROM model_call WHERE turn_id = turn.id),"
    " (SELECT ifnull(sum(cached), 0) FROM model_call WHERE turn_id = turn.id),"
    " (SELECT CASE WHEN count(*) = count(usd) THEN ifnull(sum(usd), 0.0) END FROM model_call"
    "   WHERE turn_id = turn.id)",
)


class TurnPage(NamedTuple):
    """A part of the list; ``before`` continues with older turns, None at the end.

    ``looked_at`` is how many turns a filter went through.
    """

    turns: list[FoundTurn]
    before: str | None
    looked_at: int


def search_turns(
    db: Database,
    wanted: Mapping[str, str],
    before: str | None = None,
    most: int = MAX_SEARCHED,
    also: Sequence[tuple[str, object]] = (),
) -> TurnPage:
    """Return matches among the ``most`` newest turns older than ``before``, by `FILTERS`.

    ``also`` are further conditions with their values.
    """
    conditions: list[tuple[str, object]] = [
        *((FILTERS[name], READ.get(name, str)(value)) for name, value in wanted.items() if value),
        *also,
    ]
    names: dict[str, object] = {"before": before or "~", "most": most, "page": PAGE}
    looked_at, last = db.execute(LOOKED_AT.format("true"), names).fetchone()
    more = looked_at == most
    where = ["true"]
    for number, (condition, value) in enumerate(conditions):
        where.append(condition.replace(":value", f":value{number}"))
        names[f"value{number}"] = value
    rows = db.execute(MATCHES.format(" AND ".join(where)), names)
    found = [str(turn) for (turn,) in rows]
    if len(found) == PAGE:
        names = {"before": names["before"], "most": most, "last": found[-1]}
        until, last = db.execute(LOOKED_AT.format("id >= :last"), names).fetchone()
        more, looked_at = more or until < looked_at, until
    return TurnPage(list_turns_by_id(db, found), last if more else None, looked_at)


def list_turns_by_id(db: Database, ids: list[str]) -> list[FoundTurn]:
    """Return turns by their ids, the newest first."""
    among = "id IN (SELECT value FROM json_each(?)) ORDER BY id DESC"
    return TURNS.select(db, among, orjson.dumps(ids).decode())
