"""Ask the search questions, and say what it finds and why: for ``orchestrator memory try``."""

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from orchestrator.extensions.memory import message_ranking, message_search
from orchestrator.extensions.memory.conversation_windows import STEM, show_found
from orchestrator.extensions.memory.message_search import FoundMessage, FoundPlaces
from orchestrator.extensions.memory.probes import Probe
from orchestrator.extensions.memory.query_terms import SearchQuestion, read_question
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fulltext import split_terms
from orchestrator.journal.memory.memory_scope import MemoryScope

TOKENS = 1500  # of what an agent is shown by default
MAX_RANKED = 100  # messages that the search returns
NOWHERE = -1024  # the place of a message that only an earlier index has
EXPLAINED = 3  # found messages whose score is explained
WINDOW = 200  # tokens of one of them with the messages beside it


class WordWeight(NamedTuple):
    """A word of a question: how many messages have it, and what it adds to a score at most."""

    word: str
    messages: int
    weight: float


class ScoreParts(NamedTuple):
    """The parts of a score: words, the messages beside it, its sitting, its sender, its date."""

    words: float
    beside: float
    sitting: float
    who: float
    date: float


class ExplainedMessage(NamedTuple):
    """A found message: its handle, the words of the question in it, and why it ranks so high.

    ``lines`` are as an agent reads them, with the messages beside it; ``at`` in milliseconds.
    """

    handle: str
    at: int
    matched: tuple[str, ...]
    score: float
    parts: ScoreParts
    lines: tuple[str, ...]


class ProbeResult(NamedTuple):
    """What a question found: ``rank`` of the expected message from 1, and whether it was shown.

    ``rank`` is None if it is not among the first 100; ``shown``, ``expected`` and ``indexed``
    (whether the index has it) are None if no message is expected. ``tokens`` is the size of what
    an agent would read.
    """

    question: str
    expected: str | None
    expected_text: str | None
    expected_at: int | None
    indexed: bool | None
    rank: int | None
    shown: bool | None
    tokens: int
    milliseconds: float
    words: tuple[WordWeight, ...]
    found: tuple[ExplainedMessage, ...]


def run_probe(
    db: Database, memory: MemoryScope, probe: Probe, zone: ZoneInfo, tokens: int = TOKENS
) -> ProbeResult:
    """Search as the tool of agents does, and explain the best messages."""
    started = time.perf_counter()
    question = read_question(probe.question)
    places = message_search.look_up(db, memory, question)
    ranked = message_ranking.rank_messages(places.postings, places.total, {})
    rows = message_search.read_messages(db, memory, question, ranked, zone=zone)
    found = list(islice(rows, MAX_RANKED))
    text = show_found(db, found, question.telling, MAX_RANKED, tokens, zone).text
    milliseconds = (time.perf_counter() - started) * 1000
    wanted = probe.expected
    ids = [message.id for message in found]
    return ProbeResult(
        question=probe.question,
        expected=None if wanted is None else f"m{wanted.id}",
        expected_text=None if wanted is None else wanted.text,
        expected_at=None if wanted is None else wanted.at,
        indexed=None if wanted is None else _is_indexed(db, wanted.id),
        rank=ids.index(wanted.id) + 1 if wanted is not None and wanted.id in ids else None,
        shown=None if wanted is None else f" m{wanted.id} " in text,
        tokens=-(-len(text) // 4),
        milliseconds=milliseconds,
        words=tuple(_weigh_words(db, memory, question)),
        found=tuple(_explain_messages(db, question, places, found[:EXPLAINED], zone)),
    )


def _is_indexed(db: Database, number: int) -> bool:
    return bool(message_search.load_places(db, {number: 1.0}))


def _weigh_words(
    db: Database, memory: MemoryScope, question: SearchQuestion
) -> Iterator[WordWeight]:
    for word in question.telling:
        alone = message_search.look_up(db, memory, read_question(word))
        rows = max((posting.rows for posting in alone.postings), default=0)
        weight = message_ranking.measure_rarity(alone.total, rows) if rows else 0.0
        share = max((posting.weight for posting in alone.postings), default=1.0)
        yield WordWeight(word, rows, round(weight * share, 2))


def _explain_messages(
    db: Database,
    question: SearchQuestion,
    places: FoundPlaces,
    found: Sequence[FoundMessage],
    zone: ZoneInfo,
) -> Iterator[ExplainedMessage]:
    words, sittings, _ = message_ranking.score_words(places.postings, places.total)
    best, most = max(words.values(), default=1.0), max(sittings.values(), default=1.0)
    for message in found:
        places_of = message_search.load_places(db, {message.id: 1.0})
        key = next(iter(places_of), NOWHERE) >> 5
        near = words.get(key - 1, 0.0) + words.get(key + 1, 0.0)
        own = words.get(key, 0.0) / best
        beside = message_ranking.BESIDE * near / best
        sitting = message_ranking.SITTING * sittings.get(key >> 6, 0.0) / most
        base = own + beside + sitting
        date = message_search.weigh_message(question, 0.0, message, zone)
        score = message_search.weigh_message(question, base, message, zone)
        parts = (own, beside, sitting, score - base - date, date)
        said = {term[:STEM] for term in split_terms(message.text)}
        window = show_found(db, [message], question.telling, 1, WINDOW, zone).text
        yield ExplainedMessage(
            handle=f"m{message.id}",
            at=message.at,
            matched=tuple(word for word in question.telling if word[:STEM] in said),
            score=round(score, 2),
            parts=ScoreParts(*(round(part, 2) for part in parts)),
            lines=tuple(window.split("\n")),
        )
