"""What turns had to do without, and whom to tell: the operator and the chat, once each.

Where: is a turn with fewer tools, or another model, recorded?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.degradations import Degradation, DegradationKind

AGAIN = 3_600_000  # milliseconds until the operator is told again of what healed and came back
RECENT = 86_400_000  # milliseconds for which `orchestrator status` shows it
OCCASIONAL = ("history", "message")  # kinds that come with some messages: told again after a day


@dataclass(frozen=True)
class DegradedTurns:
    """What turns of an agent did without; times in milliseconds."""

    agent_id: str
    kind: DegradationKind
    subject: str
    what: str
    words: str
    count: int
    since: int
    last: int

    def __str__(self) -> str:
        began, ended = (
            f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%d %H:%M}"
            for at in (self.since, self.last)
        )
        often = f"{self.count} turns since {began}, the last at" if self.count > 1 else "a turn at"
        found = Degradation(kind=self.kind, subject=self.subject, what=self.what, words=self.words)
        return f"with less: {found} ({often} {ended} UTC)"


DEGRADED_TURNS = Rows(
    DegradedTurns,
    "degradation",
    "agent_id, kind, subject, what, max(words), count(*), min(at), max(at)",
)


def record_degradations(
    db: Database, turn: Turn, found: Sequence[Degradation], seq: int | None, now: int
) -> dict[Degradation, bool]:
    """Store what a turn did without; return what is new in it, and whether to the operator too.

    ``seq`` is the model response, None if the turn failed. Something is told again once a turn
    without it has been between, but not within the hour, or if it changed.
    """
    stored = {}
    for one in found:
        last = db.execute(
            "SELECT what, turn_id, at FROM degradation WHERE agent_id = ? AND kind = ?"
            " AND subject = ? AND turn_id <> ? ORDER BY at DESC LIMIT 1",
            (turn.agent_id, one.kind, one.subject, turn.id),
        ).fetchone()
        db.execute(
            "INSERT INTO degradation(turn_id, kind, subject, what, words, agent_id, at, seq)"
            " VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
            (turn.id, one.kind, one.subject, one.what, one.words, turn.agent_id, now, seq),
        )
        if not db.changes():
            continue
        known = last is not None and last[0] == one.what
        again = RECENT if one.kind in OCCASIONAL else AGAIN
        healed = known and now - last[2] >= again and _find_previous_turn(db, turn) != last[1]
        stored[one] = healed or not known
    return stored


def _find_previous_turn(db: Database, turn: Turn) -> object:
    """Return the turn that called the agent's model last before this one."""
    sql = (
        "SELECT turn_id FROM model_call WHERE agent_id = ? AND turn_id <> ? ORDER BY at DESC,"
        " id DESC LIMIT 1"
    )
    return db.execute(sql, (turn.agent_id, turn.id)).get


def is_new_to_chat(db: Database, turn: Turn, one: Degradation, now: int) -> bool:
    """Return whether no other turn of the chat did without the same within a day."""
    sql = (
        "SELECT 1 FROM degradation JOIN turn ON turn.id = turn_id WHERE degradation.agent_id = ?"
        " AND at > ? AND kind = ? AND subject = ? AND chat_key = ? AND turn_id <> ? LIMIT 1"
    )
    found = turn.agent_id, now - RECENT, one.kind, one.subject, turn.chat_key, turn.id
    return db.execute(sql, found).get is None


def list_degradations_of_turn(db: Database, turn_id: str) -> list[tuple[int | None, Degradation]]:
    """Return what a turn did without, each with the number of the model response."""
    rows = db.execute(
        "SELECT seq, kind, subject, what, words FROM degradation WHERE turn_id = ?"
        " ORDER BY at, kind, subject",
        (turn_id,),
    )
    names = ("kind", "subject", "what", "words")
    return [
        (seq, Degradation.model_validate(dict(zip(names, row, strict=True)))) for seq, *row in rows
    ]


def list_recent_degradations(db: Database, now: int) -> list[DegradedTurns]:
    """Return what turns of the last day did without, by agent, the newest first."""
    where = (
        "at > ? GROUP BY agent_id, kind, subject, what ORDER BY agent_id, max(at) DESC, kind,"
        " subject"
    )
    return DEGRADED_TURNS.select(db, where, now - RECENT)
