"""The sessions that are due for a summary or a fact extraction, and the storage of both.

No row is marked before the model call, so a crash leaves the session as it was. The summary (or the
facts) and the position that it covers are stored in one transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from orchestrator.extensions.memory import fact_reads, learned_changes
from orchestrator.extensions.memory.fact_changes import EXTRACTION
from orchestrator.extensions.memory.learned_changes import LearnedChanges, LearnedFrom
from orchestrator.extensions.memory.memory_requests import (
    ExtractedFact,
    ExtractedNote,
    ExtractionRequest,
    NumberedFact,
    SaidMessage,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.facts import Fact
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns import sessions, taint
from thinker.protocol.messages import (
    MAX_AUTHOR,
    MESSAGE,
    UNTRUSTED,
    AssistantMessage,
    Message,
    Origin,
    UserMessage,
    find_least_trusted,
)
from thinker.protocol.visible_text import clean_name

MAX_MESSAGES = 4_000  # looked at for one request; the rest waits for the next
MORE_TURNS = 3  # in addition to the kept turns: fewer are not worth a summary
PART = 12_000  # estimated tokens of the input of one summary; the rest waits for the next
MIN_SAID = 4  # messages of user and agent, below which an extraction is not worth a model call
LONGEST = 7 * 86_400_000  # milliseconds between two trials of an extraction that fails
LARGE = 1000  # tokens: the index of open sessions has only those with more
KNOWN = 30  # known facts in the prompt of an extraction, and as many more of their slots
NOTES = 5  # newest notes there
RECEIVED = "SELECT max(received_at) FROM inbox WHERE inbox.turn_id = message.turn_id"


class CompactionInput(NamedTuple):
    """The part of a session to summarize: messages after id ``after``, up to ``upto``.

    ``origin`` is the summary's origin: the least trusted one of the sources.
    """

    session_id: int
    agent_id: str
    after: int
    upto: int
    messages: tuple[SaidMessage, ...]
    summary: str | None
    origin: Origin = "user"


class MessageRange(NamedTuple):
    """The part of a session to extract facts from: turns after message ``after``, up to ``upto``.

    ``known`` and ``notes`` are in the memory already. ``origin`` is the least trusted one of the
    messages.
    """

    session_id: int
    memory: MemoryScope
    after: int
    upto: int
    turns: tuple[str, ...]
    messages: tuple[SaidMessage, ...]
    known: tuple[Fact, ...] = ()
    notes: tuple[Fact, ...] = ()
    origin: Origin = "user"


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
    messages: list[SaidMessage] = []
    upto, size = after, 0
    for _, last in turns[:-keep_turns]:
        added = _list_messages(db, session_id, upto, last)
        size += estimate_tokens(added)
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
            estimate_tokens(rest),
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
    said = [
        one
        for one in messages
        if isinstance(one.message, UserMessage | AssistantMessage) and one.message.content
    ]
    if len(said) < MIN_SAID:
        db.execute("UPDATE session SET idle_since = NULL WHERE id = ?", (session_id,))
        return None
    memory, origin = scoped(db, agent_id, scope), _find_least_trusted_origin(messages)
    known = _list_known_facts(db, memory, said, origin)
    notes = fact_reads.list_newest_facts(db, memory, facts.NOTE, facts.FOREVER, NOTES)
    names = tuple(turn for turn, _ in turns)
    return MessageRange(
        session_id,
        memory,
        after,
        upto,
        names,
        tuple(said),
        known,
        tuple(note for note in reversed(notes) if _may_show(note, origin)),
        origin,
    )


def build_extraction_request(part: MessageRange) -> ExtractionRequest:
    return ExtractionRequest(
        messages=part.messages,
        known=tuple(map(_build_numbered_fact, part.known)),
        notes=tuple(map(_build_numbered_fact, part.notes)),
    )


def store_extracted_facts(
    db: Database,
    part: MessageRange,
    found: Sequence[ExtractedFact],
    now: int,
    notes: Sequence[ExtractedNote] = (),
) -> LearnedChanges:
    """Store what was found in a part of a session, mark it as done, and return what has changed.

    Nothing is stored if the part is marked already.
    """
    db.execute(
        "UPDATE session SET facts_upto = ? WHERE id = ? AND facts_upto = ?",
        (part.upto, part.session_id, part.after),
    )
    if not db.changes():
        return LearnedChanges()
    source = f"{EXTRACTION} {part.turns[0]}..{part.turns[-1]}"
    said = {one.id: one.at for one in part.messages if isinstance(one.message, UserMessage)}
    learned_from = LearnedFrom(part.memory, source, part.origin, said)
    return learned_changes.store_changes(db, learned_from, found, notes, now)


def postpone_extraction(db: Database, session_id: int, now: int, wait: int) -> None:
    """Retry when the session has been idle for as long again, at least ``wait`` milliseconds.

    So a model that fails is asked a dozen times in a month without messages; the longest wait is a
    week.
    """
    newest = "(SELECT at FROM message WHERE session_id = session.id ORDER BY id DESC LIMIT 1)"
    again = f"max(?1, ?1 - ?2 + min({LONGEST}, ?1 - coalesce({newest}, ?1)))"
    db.execute(  # NULL stays NULL
        f"UPDATE session SET idle_since = max(idle_since, {again}) WHERE id = ?3",
        (now, wait, session_id),
    )


def _build_numbered_fact(fact: Fact) -> NumberedFact:
    return NumberedFact(
        id=fact.id, fact=fact.fact, subject=fact.subject, slot=fact.slot, since=fact.valid_from
    )


def estimate_tokens(messages: Sequence[SaidMessage]) -> int:
    """Estimate the tokens of messages without their times and names."""
    return sum(sessions.estimate_tokens(one.message) for one in messages)


def _list_known_facts(
    db: Database, memory: MemoryScope, said: Sequence[SaidMessage], origin: Origin
) -> tuple[Fact, ...]:
    """Return the open facts that what was said may change, in order of their numbers.

    These are the most similar, the newest, and all others of their slots. What others wrote is not
    shown beside what the user said, since the answer may change that.
    """
    text = "\n".join(one.message.content for one in said)
    best = fact_reads.search_facts(db, memory, text, KNOWN)
    newest = fact_reads.list_newest_facts(db, memory, None, facts.FOREVER, KNOWN)
    shown = [fact for fact in (*best, *newest) if fact.category != facts.NOTE]
    known = {fact.id: fact for fact in shown if _may_show(fact, origin)}
    known = dict([*known.items()][:KNOWN])
    slots = {(fact.subject, fact.slot) for fact in known.values() if fact.slot}
    same = [
        fact for one in sorted(slots) for fact in learned_changes.list_slot_facts(db, memory, *one)
    ]
    known |= {fact.id: fact for fact in same[: 2 * KNOWN] if _may_show(fact, origin)}
    return tuple(sorted(known.values(), key=lambda fact: fact.id)[-2 * KNOWN :])


def _may_show(fact: Fact, origin: Origin) -> bool:
    return origin in UNTRUSTED or fact.origin not in UNTRUSTED


def _find_least_trusted_origin(said: Sequence[SaidMessage]) -> Origin:
    """Return the least trusted origin of content that the messages may repeat."""
    messages = [one.message for one in said]
    return find_least_trusted("user", *taint.make_history_taint(messages).untrusted.values())


def _list_turns(db: Database, session_id: int, after: int) -> list[tuple[str, int]]:
    """Return the next turns with messages after an id, in order, and the last message of each."""
    rows = db.execute(
        "SELECT turn_id, id FROM message WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?",
        (session_id, after, MAX_MESSAGES),
    )
    found: dict[str, int] = {}
    for turn, number in rows:
        found.pop(turn, None)  # those of a session that was merged lie between
        found[turn] = number
    return [*found.items()]


def _list_messages(db: Database, session_id: int, after: int, upto: int) -> list[SaidMessage]:
    """Return messages with the times at which they were received, or else answered."""
    rows = db.execute(
        f"SELECT id, turn_id, coalesce(({RECEIVED}), at), body FROM message"
        " WHERE session_id = ? AND id > ? AND id <= ? ORDER BY id",
        (session_id, after, upto),
    ).fetchall()
    return [
        SaidMessage(id=number, at=at, message=message, sender=_find_name(db, turn, message))
        for number, turn, at, body in rows
        for message in (MESSAGE.validate_json(body),)
    ]


def _find_name(db: Database, turn_id: str, message: Message) -> str:
    """Return the name of a message's author in a chat of several people, or else the id."""
    if not isinstance(message, UserMessage) or not message.sender:
        return ""
    sql = "SELECT sender_name FROM inbox WHERE turn_id = ? AND sender_id = ? ORDER BY id LIMIT 1"
    found = db.execute(sql, (turn_id, message.sender)).get
    return clean_name(str(found or message.sender))[:MAX_AUTHOR]
