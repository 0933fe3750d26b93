"""The sessions that are due for a summary or a fact extraction, and the storage of both.

No row is marked before the model call, so a crash leaves the session as it was. The summary (or the
facts) and the position that it covers are stored in one transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from orchestrator.extensions.memory import fact_changes
from orchestrator.extensions.memory.fact_changes import RefusedFactError, Statement
from orchestrator.extensions.memory.memory_requests import ExtractedFact
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns import sessions, taint
from thinker.protocol.messages import (
    MESSAGE,
    AssistantMessage,
    Message,
    Origin,
    UserMessage,
    find_least_trusted,
)

MORE_TURNS = 3  # in addition to the kept turns: fewer are not worth a summary
PART = 12_000  # estimated tokens of the input of one summary; the rest waits for the next
MIN_SAID = 4  # messages of user and agent, below which an extraction is not worth a model call
LARGE = 1000  # tokens: the index of open sessions has only those with more
KNOWN = 30  # known facts in the prompt of an extraction


class CompactionInput(NamedTuple):
    """The part of a session to summarize: messages after id ``after``, up to ``upto``.

    ``origin`` is the summary's origin: the least trusted one of the sources.
    """

    session_id: int
    agent_id: str
    after: int
    upto: int
    messages: tuple[Message, ...]
    summary: str | None
    origin: Origin = "user"


class MessageRange(NamedTuple):
    """The part of a session to extract facts from: turns after message ``after``, up to ``upto``.

    ``known`` are facts already in the memory.
    """

    session_id: int
    memory: MemoryScope
    after: int
    upto: int
    turns: tuple[str, ...]
    messages: tuple[Message, ...]
    known: tuple[str, ...]


def list_large_sessions(db: Database, limits: Mapping[str, int]) -> list[tuple[int, str, int]]:
    """Return the open sessions with more tokens than the agent's limit: id, agent, tokens."""
    least = min(limits.values(), default=facts.FOREVER)
    indexed = f"AND tokens > {LARGE}" if least >= LARGE else ""
    rows = db.execute(
        f"SELECT id, agent_id, tokens FROM session WHERE ended_at IS NULL AND tokens > ? {indexed}",
        (least,),
    )
    return [row for row in rows if row[2] > limits.get(row[1], facts.FOREVER)]


def find_compaction_input(
    db: Database, session_id: int, keep_turns: int, most: int = PART
) -> CompactionInput | None:
    """Return the turns before the newest ``keep_turns``, of ``most`` estimated tokens.

    None if there are too few, or the session was removed.
    """
    sql = "SELECT agent_id, summary, summary_upto, summary_origin FROM session WHERE id = ?"
    found = db.execute(sql, (session_id,)).fetchone()
    if found is None:
        return None
    agent_id, summary, after, before = found
    turns = _list_turns(db, session_id, after)
    if len(turns) < keep_turns + MORE_TURNS:
        return None
    messages: list[Message] = []
    upto, size = after, 0
    for _, last in turns[:-keep_turns]:
        added = _list_messages(db, session_id, upto, last)
        size += sum(map(sessions.estimate_tokens, added))
        if messages and size > most:
            break
        messages += added
        upto = last
    origin = find_least_trusted(before, _find_least_trusted_origin(messages))
    return CompactionInput(session_id, agent_id, after, upto, tuple(messages), summary, origin)


def store_summary(db: Database, part: CompactionInput, summary: str) -> bool:
    """Store a summary of a part of a session; return False if the session has a newer one."""
    rest = _list_messages(db, part.session_id, part.upto, facts.FOREVER)
    db.execute(
        "UPDATE session SET summary = ?, summary_origin = ?, summary_upto = ?, tokens = ?"
        " WHERE id = ? AND summary_upto = ?",
        (
            summary,
            part.origin,
            part.upto,
            sum(map(sessions.estimate_tokens, rest)),
            part.session_id,
            part.after,
        ),
    )
    return db.changes() == 1


def list_idle_sessions(
    db: Database, idle: Mapping[str, int], now: int
) -> tuple[list[tuple[int, str]], int | None]:
    """Return the sessions (with their agent) that are idle, and when the next one will be.

    ``idle`` is the time without messages for each agent, in milliseconds.
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


def find_unextracted_range(
    db: Database,
    session_id: int,
    max_turns: int,
    scoped: Callable[[Database, str, str], MemoryScope],
) -> MessageRange | None:
    """Return the next turns of a session to extract facts from, at most ``max_turns``.

    ``scoped`` returns the memory of an agent and a scope. Returns None if the session has too few
    messages, and then waits for more, or was removed.
    """
    sql = "SELECT agent_id, scope, facts_upto FROM session WHERE id = ?"
    found = db.execute(sql, (session_id,)).fetchone()
    if found is None:
        return None
    agent_id, scope, after = found
    turns = _list_turns(db, session_id, after)[:max_turns]
    upto = turns[-1][1] if turns else after
    messages = _list_messages(db, session_id, after, upto)
    texts = [
        message.content
        for message in messages
        if isinstance(message, UserMessage | AssistantMessage) and message.content
    ]
    if len(texts) < MIN_SAID:
        db.execute("UPDATE session SET idle_since = NULL WHERE id = ?", (session_id,))
        return None
    memory = scoped(db, agent_id, scope)
    best = facts.search_facts(db, memory, "\n".join(texts), KNOWN)
    newest = facts.list_newest_facts(db, memory, None, facts.FOREVER, KNOWN)
    known = tuple(dict.fromkeys(fact.fact for fact in (*best, *newest)))[:KNOWN]
    names = tuple(turn for turn, _ in turns)
    return MessageRange(session_id, memory, after, upto, names, tuple(messages), known)


def store_extracted_facts(
    db: Database, part: MessageRange, found: Sequence[ExtractedFact], now: int
) -> int:
    """Store the facts found in a part of a session, mark it as done, and count the new facts.

    Facts with secrets are left out. Nothing is stored if the part is marked already.
    """
    db.execute(
        "UPDATE session SET facts_upto = ? WHERE id = ? AND facts_upto = ?",
        (part.upto, part.session_id, part.after),
    )
    if not db.changes():
        return 0
    source = f"extraction {part.turns[0]}..{part.turns[-1]}"
    new, origin = 0, _find_least_trusted_origin(part.messages)
    for item in found:
        statement = Statement(item.fact, item.category, source, item.confidence, origin)
        with suppress(RefusedFactError):
            stored = fact_changes.store_statement(db, part.memory, statement, now)
            new += stored is not None and stored.new
    return new


def postpone_extraction(db: Database, session_id: int, now: int) -> None:
    """Restart the idle time of a session, to retry later."""
    db.execute(  # NULL stays NULL
        "UPDATE session SET idle_since = max(idle_since, ?) WHERE id = ?", (now, session_id)
    )


def _find_least_trusted_origin(messages: Sequence[Message]) -> Origin:
    """Return the least trusted origin of content that the messages may repeat."""
    return find_least_trusted("user", *taint.make_history_taint(messages).untrusted.values())


def _list_turns(db: Database, session_id: int, after: int) -> list[tuple[str, int]]:
    """Return the turns with messages after an id, in order, and the last message of each."""
    rows = db.execute(
        "SELECT turn_id, max(id) FROM message WHERE session_id = ? AND id > ?"
        " GROUP BY turn_id ORDER BY 2",
        (session_id, after),
    )
    return [(str(turn), int(last)) for turn, last in rows]


def _list_messages(db: Database, session_id: int, after: int, upto: int) -> list[Message]:
    rows = db.execute(
        "SELECT body FROM message WHERE session_id = ? AND id > ? AND id <= ? ORDER BY id",
        (session_id, after, upto),
    )
    return [MESSAGE.validate_json(body) for (body,) in rows]
