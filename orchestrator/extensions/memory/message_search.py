"""The search in the messages of an agent's conversations.

Words are looked up in the index, ranked (`message_ranking`), and the best messages are read. A word
that no message has stands for other forms of it. What a memory may not read is left out twice: by
the terms that are looked up, and by the condition on the rows that are read.

Where: are messages found by a query?
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from typing import NamedTuple
from zoneinfo import ZoneInfo

import orjson

from orchestrator.extensions.memory import message_index
from orchestrator.extensions.memory.earlier_index import search_earlier_index
from orchestrator.extensions.memory.message_ranking import Postings
from orchestrator.extensions.memory.query_terms import (
    FIRST_PERSON,
    SearchQuestion,
    list_forms,
)
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.db.dialect import get_dialect
from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.messages import Origin

MAX_PLACES = 6000  # with one term: the latest ones
MAX_COUNTED = 20_000  # latest messages of a memory in which common terms are counted
FORM_WEIGHT = 0.5  # of a word that stands for another one
BATCH = 200  # ranked messages that are read at a time
SAID_BY_NAMED = 1.1  # what the score of words counts more if the sender is named in the query
IN_TIME = 0.5  # added to the score of a message in the time that the query names


@dataclass(frozen=True)
class FoundMessage:
    """A message of a user or of the agent (``assistant``); ``at`` in milliseconds."""

    id: int
    session_id: int
    at: int
    role: str
    text: str
    chat_key: str
    origin: Origin
    sender_name: str
    sender: str

    @property
    def author(self) -> str:
        """Who said it: a name in a chat of several people, else the role."""
        return self.sender_name or self.role


FOUND = Rows(
    FoundMessage,
    "said JOIN message ON message.id = said.id JOIN session ON session.id = said.session_id",
    "said.id, said.session_id, said.at, role, text, chat_key,"
    " ifnull(message.body ->> 'origin', 'user'), ifnull(message.body ->> 'sender_name', ''),"
    " ifnull(message.body ->> 'sender', '')",
)


class MessageFilter(NamedTuple):
    """The messages that are wanted: from ``after``, up to ``before`` (milliseconds), of ``who``."""

    after: int = 0
    before: int = 1 << 62
    who: str = ""

    def admits(self, found: FoundMessage) -> bool:
        if not self.after <= found.at < self.before:
            return False
        wanted = self.who.casefold()
        return not wanted or wanted == found.role or _is_named(found, fulltext.split_terms(wanted))


EVERY_MESSAGE = MessageFilter()


class FoundPlaces(NamedTuple):
    """What the index has for a question: the places by term, and the messages in the memory."""

    postings: Sequence[Postings]
    total: int


def look_up(db: Database, memory: MemoryScope, question: SearchQuestion) -> FoundPlaces:
    """Return where the terms of a question are.

    A term of very many messages is looked up only in those that have one of the other terms. How
    many have it is estimated from the latest messages of a memory that has more than `MAX_COUNTED`.
    """
    scopes = message_index.list_scope_terms(db, memory)
    if not scopes:
        return FoundPlaces((), 0)
    index = get_dialect(db)

    def list_places(*terms: str) -> list[int]:
        return index.list_places(db, [scopes, terms], MAX_PLACES) if terms else []

    sample = _Sample.choose(db, scopes)
    found = {term: list_places(term) for term in question.telling}
    common = [term for term, places in found.items() if len(places) == MAX_PLACES]
    rare = [term for term, places in found.items() if 0 < len(places) < MAX_PLACES]
    postings = [Postings(found[term], len(found[term])) for term in rare]
    for term in common:
        wanted = [scopes, [term], rare] if rare else [scopes, [term]]
        places = index.list_places(db, wanted, MAX_PLACES)
        postings.append(Postings(places, sample.estimate_count(db, [term])))
    forms = [list_places(*list_forms(term)) for term in found if not found[term]]
    postings += [Postings(places, len(places), FORM_WEIGHT) for places in forms if places]
    if not postings:
        postings = _look_up_circumstances(question, list_places)
    return FoundPlaces(postings, sample.estimate_count(db))


class _Sample(NamedTuple):
    """The latest messages of a memory, from a place on; ``share`` of all are among them."""

    scopes: Sequence[str]
    since: int = 0
    share: float = 1.0

    @classmethod
    def choose(cls, db: Database, scopes: Sequence[str]) -> "_Sample":
        index = get_dialect(db)
        first = index.list_places(db, [scopes], 1, MAX_COUNTED)
        if not first:
            return cls(scopes)
        (last,) = index.list_places(db, [scopes], 1)
        # Places rise with time, and most memories grow evenly.
        return cls(scopes, first[0] + 1, (last - first[0]) / last)

    def estimate_count(self, db: Database, *groups: Sequence[str]) -> int:
        """Return about how many messages of the memory have a term of each group."""
        counted = get_dialect(db).count_places(db, [self.scopes, *groups], self.since)
        return round(counted / self.share)


def _look_up_circumstances(
    question: SearchQuestion, list_places: Callable[..., list[int]]
) -> list[Postings]:
    """Return the messages of the people, or else of the months, that a question names."""
    time = question.time
    months = time.months or range(1, 13)
    for terms in (
        message_index.make_sender_terms(sorted(question.words)),
        [message_index.make_month_term(year, month) for year in time.years for month in months],
    ):
        if terms and (places := list_places(*terms)):
            return [Postings(places, len(places))]
    return []


def load_places(db: Database, scores: Mapping[int, float]) -> dict[int, float]:
    """Return scores by the places of the messages instead of by their ids."""
    rows = db.execute(
        "SELECT message_id, place FROM message_place WHERE message_id IN"
        " (SELECT CAST(value AS INTEGER) FROM json_each(?))",
        (orjson.dumps([*scores]).decode(),),
    )
    return {int(place): scores[int(message)] for message, place in rows} if scores else {}


def read_messages(
    db: Database,
    memory: MemoryScope,
    question: SearchQuestion,
    ranked: Sequence[tuple[int, float]],
    wanted: MessageFilter = EVERY_MESSAGE,
    zone: ZoneInfo | None = None,
) -> Iterator[FoundMessage]:
    """Yield the best of the ranked messages that a memory may read and that are wanted.

    Who said a message, and when, counts here; times of a question are of ``zone``, by default UTC.
    While messages of an earlier version are not indexed, every other one is of these.
    """
    earlier = _read_earlier(db, memory, question)
    for pair in zip_longest(_read_placed(db, memory, question, ranked, zone), earlier):
        yield from (one for one in pair if one is not None and wanted.admits(one))


def _read_earlier(
    db: Database, memory: MemoryScope, question: SearchQuestion
) -> list[FoundMessage]:
    """Return the best of the messages without a place, which only an earlier index has."""
    ids = search_earlier_index(db, memory, question.query, BATCH)
    found = {message.id: message for message in _load_messages(db, memory, ids)}
    return [found[one] for one in ids if one in found]


def _read_placed(
    db: Database,
    memory: MemoryScope,
    question: SearchQuestion,
    ranked: Sequence[tuple[int, float]],
    zone: ZoneInfo | None,
) -> Iterator[FoundMessage]:
    for start in range(0, len(ranked), BATCH):
        scores = dict(ranked[start : start + BATCH])
        rows = [
            (weigh_message(question, scores[place], message, zone), message)
            for place, message in _read_batch(db, memory, scores)
        ]
        rows.sort(key=lambda row: (-row[0], -row[1].id))
        yield from (message for _, message in rows)


def _read_batch(
    db: Database, memory: MemoryScope, scores: Mapping[int, float]
) -> list[tuple[int, FoundMessage]]:
    numbers = orjson.dumps([*scores]).decode()
    rows = db.execute(
        "SELECT message_id, place FROM message_place WHERE place IN"
        " (SELECT CAST(value AS INTEGER) FROM json_each(?))",
        (numbers,),
    )
    places = {int(message): int(place) for message, place in rows}
    return [(places[message.id], message) for message in _load_messages(db, memory, places)]


def _load_messages(db: Database, memory: MemoryScope, ids: Iterable[int]) -> list[FoundMessage]:
    where, values = memory.build_row_condition("session")
    among = "said.id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))"
    return FOUND.select(db, f"{among} AND {where}", orjson.dumps([*ids]).decode(), *values)


def weigh_message(
    question: SearchQuestion, score: float, message: FoundMessage, zone: ZoneInfo | None
) -> float:
    """Return a message's score with what its sender and its date add to that of its words."""
    first_person = message.role == "user" and not message.sender
    own = first_person and not FIRST_PERSON.isdisjoint(question.words)
    if own or _is_named(message, question.words):
        score *= SAID_BY_NAMED
    moment = datetime.fromtimestamp(message.at / 1000, zone or UTC)
    return score + IN_TIME * question.time.includes(moment)


def _is_named(message: FoundMessage, words: Iterable[str]) -> bool:
    sender = message_index.find_sender(message.text, message.sender_name, message.sender)
    return bool(sender) and not set(fulltext.split_terms(sender)).isdisjoint(words)
