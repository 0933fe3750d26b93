"""Embeddings of messages, and the search for the messages nearest to a question.

A vector is stored with a byte for each number, and with the signs of its numbers (a bit each), by
which the nearest are chosen before they are compared. For 384 numbers this is 432 bytes a message.

Where: are earlier messages found by their meaning?
"""

import math
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.vectors import WIDTH, compute_signs, unpack_vector

MAX_SCREENED = 10_000  # newest messages that are compared by the signs of their vectors
MAX_COMPARED = 100  # the most similar of those, compared by whole vectors
MAX_DELETED = 2000  # rows in one transaction
STEPS = 127  # a number of a vector is stored as -127 to 127
MAX_ID = 2**63 - 1
AFTER, BEFORE = (">", "ASC"), ("<", "DESC")  # sides of an id, and the order away from it
STALE = "agent_id = ? AND (model <> ? OR dimensions <> ?)"


class SpokenText(NamedTuple):
    """A message as it is embedded: ``Ann: I moved to Berlin``."""

    message_id: int
    text: str


class Coverage(NamedTuple):
    """How many of an agent's messages have a vector."""

    vectors: int
    messages: int

    @property
    def is_complete(self) -> bool:
        """Whether no message lacks a vector."""
        return self.vectors >= self.messages

    def __str__(self) -> str:
        share = 100 * self.vectors // max(1, self.messages)
        return f"vectors of {self.vectors:,} of {self.messages:,} messages ({share} %)"


def list_new_messages(db: Database, agent_id: str, model: str, limit: int) -> list[SpokenText]:
    """Return the first messages of an agent after the last one with a vector of a model.

    Without any such vector these are the newest, the last one first.
    """
    last = _find_bound(db, agent_id, model, "max")
    if last is None:
        return _list_messages(db, agent_id, BEFORE, MAX_ID, limit)
    return _list_messages(db, agent_id, AFTER, last, limit)


def list_old_messages(db: Database, agent_id: str, model: str, limit: int) -> list[SpokenText]:
    """Return the last messages of an agent before the first one with a vector of a model.

    The messages between that and the last one with a vector are taken to have one, too.
    """
    first = _find_bound(db, agent_id, model, "min")
    return [] if first is None else _list_messages(db, agent_id, BEFORE, first, limit)


def _find_bound(db: Database, agent_id: str, model: str, bound: str) -> int | None:
    """Return the ``min`` or ``max`` id of a message with a vector of a model, if there is one."""
    sql = f"SELECT {bound}(message_id) FROM message_vector WHERE agent_id = ? AND model = ?"
    found = db.execute(sql, (agent_id, model)).get
    return None if found is None else int(found)


def _list_messages(
    db: Database, agent_id: str, side: tuple[str, str], bound: int, limit: int
) -> list[SpokenText]:
    """Return the messages of an agent nearest to a bound on one side of it, the nearest first.

    One message of each session is read, and then those of the sessions with the nearest ones.
    """
    than, order = side
    sessions = db.execute(
        "SELECT id, near FROM (SELECT id, (SELECT said.id FROM said WHERE session_id = session.id"
        f" AND said.id {than} ? ORDER BY said.id {order} LIMIT 1) AS near"
        " FROM session WHERE agent_id = ?) AS nearest"
        f" WHERE near IS NOT NULL ORDER BY near {order} LIMIT ?",
        (bound, agent_id, limit),
    )
    found: dict[int, SpokenText] = {}
    for session_id, near in [*sessions]:
        chosen = sorted(found, key=lambda number: abs(number - bound))[:limit]
        if len(chosen) == limit and abs(int(near) - bound) > abs(chosen[-1] - bound):
            break
        rows = db.execute(
            "SELECT said.id, role, text, ifnull(body ->> 'sender_name', '') FROM said"
            " JOIN message ON message.id = said.id WHERE said.session_id = ?"
            f" AND said.id {than} ? ORDER BY said.id {order} LIMIT ?",
            (session_id, bound, limit),
        )
        for number, role, text, sender in rows:
            found[int(number)] = SpokenText(int(number), f"{sender or role}: {text}")
    return [found[number] for number in sorted(found, key=lambda one: abs(one - bound))[:limit]]


def store_vectors(db: Database, agent_id: str, model: str, found: Mapping[int, bytes]) -> None:
    """Store vectors of messages by their ids, of those messages that still exist."""
    db.executemany(
        "INSERT INTO message_vector(message_id, agent_id, model, dimensions, signs, vector)"
        " SELECT message.id, agent_id, ?, ?, ?, ? FROM message JOIN session"
        " ON session.id = session_id WHERE message.id = ? AND agent_id = ?"
        " ON CONFLICT(message_id) DO UPDATE SET model = excluded.model,"
        " dimensions = excluded.dimensions, signs = excluded.signs, vector = excluded.vector",
        (
            (
                model,
                len(vector) // WIDTH,
                compute_signs(vector),
                shorten_vector(vector),
                number,
                agent_id,
            )
            for number, vector in found.items()
        ),
    )


def delete_stale_vectors(db: Database, agent_id: str, meaning: Embedding) -> int:
    """Delete some vectors of an agent of other models than the current one; return how many."""
    values = (agent_id, meaning.model, len(meaning.vector) // WIDTH, MAX_DELETED)
    chosen = f"SELECT message_id FROM message_vector WHERE {STALE} LIMIT ?"
    db.execute(f"DELETE FROM message_vector WHERE message_id IN({chosen})", values)
    return db.changes()


def rank_nearest_messages(
    db: Database, scope: MemoryScope, meaning: Embedding, limit: int = MAX_COMPARED
) -> dict[int, float]:
    """Return the messages of a scope that are nearest to an embedding, best first, with scores.

    The best has the score 1, and one that is no nearer than the last one compared has 0.
    """
    joined, (where, values) = "message_vector", scope.build_row_condition("message_vector")
    if not scope.joined:  # few sessions, which are walked through
        where, values = scope.build_row_condition("session")
        where += " AND session.id = session_id AND message.id = message_id"
        joined = "session CROSS JOIN message CROSS JOIN message_vector"
    rows = db.execute(
        f"SELECT message_id, signs FROM {joined} WHERE {where} AND model = ? AND dimensions = ?"
        " ORDER BY message_id DESC LIMIT ?",
        (*values, meaning.model, len(meaning.vector) // WIDTH, MAX_SCREENED),
    )
    query = int.from_bytes(compute_signs(meaning.vector))
    alike = nsmallest(
        MAX_COMPARED, rows, key=lambda row: (query ^ int.from_bytes(row[1])).bit_count()
    )
    vectors = (
        (number, vector)
        for number, _ in alike
        for (vector,) in db.execute(
            "SELECT vector FROM message_vector WHERE message_id = ?", (number,)
        )
    )
    found = compare_shortened(meaning.vector, vectors)
    if not found:
        return {}
    best, worst = max(found.values()), min(found.values())
    spread = best - worst or 1.0
    ranked = sorted(found, key=lambda number: (-found[number], -number))[:limit]
    return {number: (found[number] - worst) / spread for number in ranked}


def has_vectors(db: Database, agent_id: str) -> bool:
    """Return whether a message of an agent has a vector."""
    sql = "SELECT 1 FROM message_vector WHERE agent_id = ? LIMIT 1"
    return db.execute(sql, (agent_id,)).get is not None


def count_coverage(db: Database, agent_id: str, model: str) -> Coverage:
    """Count an agent's messages, and those with a vector of the model (reads every message)."""
    ((vectors, messages),) = db.execute(
        "SELECT (SELECT count(*) FROM message_vector WHERE agent_id = ?1 AND model = ?2),"
        " (SELECT count(*) FROM said JOIN session ON session.id = session_id WHERE agent_id = ?1)",
        (agent_id, model),
    )
    return Coverage(int(vectors), int(messages))


def shorten_vector(vector: bytes) -> bytes:
    """Return a vector with one signed byte for each number, in proportion."""
    numbers = unpack_vector(vector)
    largest = max(map(abs, numbers)) or 1.0
    return bytes(round(number / largest * STEPS) & 0xFF for number in numbers)


def compare_shortened(vector: bytes, others: Iterable[tuple[int, bytes]]) -> dict[int, float]:
    """Return the cosine of a whole vector with each shortened one of the same length."""
    one = unpack_vector(vector)
    found = {}
    for number, short in others:
        other = memoryview(short).cast("b").tolist()
        if len(other) == len(one) and (length := math.hypot(*other)):
            # dist and hypot run in C: |a - b|^2 = |a|^2 + |b|^2 - 2ab, where |a| is one
            apart = math.dist(one, other)
            found[number] = (1 + length * length - apart * apart) / (2 * length)
    return found
