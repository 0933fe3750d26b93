"""Whose facts are remembered, and what a fact was before a person edited it."""

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.journal.db.database import Database

MAX_PLACES = 200  # agents, and chats, in a list to choose from
MAX_EDITS = 20  # of one fact
EDITORS = ("operator", "user")  # sources of facts in a person's own words


class MemoryPlaces(NamedTuple):
    """The agents and the chats of which facts are remembered."""

    agents: tuple[str, ...] = ()
    chats: tuple[str, ...] = ()


def list_memory_places(db: Database) -> MemoryPlaces:
    """Return whose facts are remembered now."""
    return MemoryPlaces(_list_values(db, "agent_id"), _list_values(db, "scope"))


def find_origins(db: Database, numbers: Iterable[int]) -> dict[int, str]:
    """Return the source of each edited fact before its first edit; other facts are left out."""
    found = {}
    for number in numbers:
        source, at = "", number
        for _ in range(MAX_EDITS):
            row = db.execute(
                "SELECT id, source FROM fact WHERE ended_by = ? ORDER BY id DESC LIMIT 1",
                (f"fact {at}",),
            ).fetchone()
            if row is None:
                break
            at, source = int(row[0]), str(row[1])
            if source not in EDITORS:
                break
        if source:
            found[number] = source
    return found


def _list_values(db: Database, column: str) -> tuple[str, ...]:
    rows = db.execute(
        f"SELECT DISTINCT {column} FROM fact WHERE ended_by IS NULL AND {column} <> ''"
        f" ORDER BY {column} LIMIT ?",
        (MAX_PLACES,),
    )
    return tuple(str(value) for (value,) in rows)
