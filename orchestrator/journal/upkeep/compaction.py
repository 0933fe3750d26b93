"""What of a session is to be summarised or looked through for facts, and what came of it.

Nothing is marked while a model is asked: a crash at any instant leaves the session as it was, and
the summary (or the facts) and how far they reach are written in one transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import apsw

from orchestrator.journal.memory import facts
from orchestrator.journal.memory.facts import RefusedFactError
from orchestrator.journal.turns import sessions
from thinker.protocol.background import ExtractedFact
from thinker.protocol.messages import MESSAGE, AssistantMessage, Message, UserMessage

MORE_TURNS = 3  # than are kept: fewer are not worth a summary (annabelle.md §5: 8 to keep 5)
PART = 12_000  # estimated tokens that one summary is made from; the rest waits for the next
MIN_SAID = 4  # messages of people and agent that are worth looking through; seed 002
KNOWN = 30  # facts that an extraction is told of; annabelle.md §8


@dataclass(frozen=True)
class CompactionInput:
    """The part of a session that is to be summarised: messages after ``after``, up to ``upto``."""

    session_id: int
    agent_id: str
    after: int
    upto: int
    messages: tuple[Message, ...]
    summary: str | None


@dataclass(frozen=True)
class MessageRange:
    """Turns of a session that nobody looked through, up to message ``upto``."""

    session_id: int
    agent_id: str
    after: int
    upto: int
    turns: tuple[str, ...]
    messages: tuple[Message, ...]
    known: tuple[str, ...]


def large(db: apsw.Connection, limits: Mapping[str, int]) -> list[tuple[int, str, int]]:
    """Open sessions with more tokens than their agent's limit: id, agent, tokens."""
    rows = db.execute(
        "SELECT id, agent_id, tokens FROM session WHERE ended_at IS NULL AND tokens > ?",
        (min(limits.values(), default=facts.FOREVER),),
    )
    return [row for row in rows if row[2] > limits.get(row[1], facts.FOREVER)]


def older(db: apsw.Connection, session_id: int, keep_turns: int) -> CompactionInput | None:
    """The turns before the newest ``keep_turns``; None when there are too few, or no session."""
    found = db.execute(
        "SELECT agent_id, summary, summary_upto FROM session WHERE id = ?", (session_id,)
    ).fetchone()
    if found is None:
        return None
    agent_id, summary, after = found
    turns = _turns(db, session_id, after)
    if len(turns) < keep_turns + MORE_TURNS:
        return None
    messages: list[Message] = []
    upto, size = after, 0
    for _, last in turns[:-keep_turns]:
        added = _messages(db, session_id, upto, last)
        size += sum(map(sessions.tokens, added))
        if messages and size > PART:
            break
        messages += added
        upto = last
    return CompactionInput(session_id, agent_id, after, upto, tuple(messages), summary)


def compacted(db: apsw.Connection, part: CompactionInput, summary: str) -> bool:
    """The summary takes the place of what it was made from; False when another did before."""
    rest = _messages(db, part.session_id, part.upto, facts.FOREVER)
    db.execute(
        "UPDATE session SET summary = ?, summary_upto = ?, tokens = ?"
        " WHERE id = ? AND summary_upto = ?",
        (summary, part.upto, sum(map(sessions.tokens, rest)), part.session_id, part.after),
    )
    return db.changes() == 1


def quiet(
    db: apsw.Connection, idle: Mapping[str, int], now: int
) -> tuple[list[tuple[int, str]], int | None]:
    """Sessions (with their agent) that are quiet for as long as ``idle`` says, in milliseconds.

    And when the next one will be, None when nobody speaks.
    """
    due: list[tuple[int, str]] = []
    upcoming: list[int] = []
    for agent_id, wait in idle.items():
        rows = db.execute(
            "SELECT id, idle_since FROM session WHERE agent_id = ? AND idle_since IS NOT NULL"
            " ORDER BY idle_since",
            (agent_id,),
        )
        for session, since in rows:
            if since + wait > now:
                upcoming.append(since + wait)
                break
            due.append((session, agent_id))
    return due, min(upcoming, default=None)


def unseen(db: apsw.Connection, session_id: int, max_turns: int) -> MessageRange | None:
    """The first turns that nobody looked through; None when too little was said in them.

    The session then waits until more is said. None as well of one that is gone.
    """
    found = db.execute(
        "SELECT agent_id, facts_upto FROM session WHERE id = ?", (session_id,)
    ).fetchone()
    if found is None:
        return None
    agent_id, after = found
    turns = _turns(db, session_id, after)[:max_turns]
    upto = turns[-1][1] if turns else after
    messages = _messages(db, session_id, after, upto)
    said = [m for m in messages if isinstance(m, UserMessage | AssistantMessage) and m.content]
    if len(said) < MIN_SAID:
        db.execute("UPDATE session SET idle_since = NULL WHERE id = ?", (session_id,))
        return None
    best = facts.find(db, agent_id, "\n".join(message.content for message in said), KNOWN)
    newest = facts.newest(db, agent_id, None, facts.FOREVER, KNOWN)
    known = tuple(dict.fromkeys(fact.fact for fact in (*best, *newest)))[:KNOWN]
    names = tuple(turn for turn, _ in turns)
    return MessageRange(session_id, agent_id, after, upto, names, tuple(messages), known)


def extracted(
    db: apsw.Connection, stretch: MessageRange, extracted: Sequence[ExtractedFact], now: int
) -> int:
    """Keep the facts of a stretch and mark it as looked through; how many were new.

    Secrets are refused; a stretch that was marked meanwhile is left alone.
    """
    db.execute(
        "UPDATE session SET facts_upto = ? WHERE id = ? AND facts_upto = ?",
        (stretch.upto, stretch.session_id, stretch.after),
    )
    if not db.changes():
        return 0
    source = f"extraction {stretch.turns[0]}..{stretch.turns[-1]}"
    return sum(_keep(db, stretch.agent_id, fact, source, now) for fact in extracted)


def postpone(db: apsw.Connection, session_id: int, now: int) -> None:
    """Look at a session again when it has been quiet for as long once more."""
    db.execute(  # NULL stays NULL
        "UPDATE session SET idle_since = max(idle_since, ?) WHERE id = ?", (now, session_id)
    )


def _keep(db: apsw.Connection, agent_id: str, fact: ExtractedFact, source: str, now: int) -> bool:
    try:
        kept = facts.store(db, agent_id, fact.fact, fact.category, source, now, fact.confidence)
    except RefusedFactError:
        return False
    return kept.new


def _turns(db: apsw.Connection, session_id: int, after: int) -> list[tuple[str, int]]:
    """Turns with messages after one, in order, and the last message of each."""
    rows = db.execute(
        "SELECT turn_id, max(id) FROM message WHERE session_id = ? AND id > ?"
        " GROUP BY turn_id ORDER BY 2",
        (session_id, after),
    )
    return [(str(turn), int(last)) for turn, last in rows]


def _messages(db: apsw.Connection, session_id: int, after: int, upto: int) -> list[Message]:
    rows = db.execute(
        "SELECT body FROM message WHERE session_id = ? AND id > ? AND id <= ? ORDER BY id",
        (session_id, after, upto),
    )
    return [MESSAGE.validate_json(body) for (body,) in rows]
