"""Find anything by a few characters: a turn or a message by its name, agents, chats, texts."""

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.journal.db.database import Database, is_postgresql
from orchestrator.journal.db.distinct import distinct
from orchestrator.journal.inspect import trace
from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.message_search import HITS, UNINDEXED, MessageHit
from orchestrator.journal.postgresql import ranking
from orchestrator.journal.turns.inbox import InboxRow
from thinker.protocol.names import chat_name

MOST = 8  # of each kind
SHORTEST = 4  # characters of a turn's id
LOOKED_AT = 5000  # newest messages whose chats are compared


class ChatHit(NamedTuple):
    """A chat, its name for people, and the name of who writes in it."""

    key: str
    name: str
    sender: str


class Findings(NamedTuple):
    """What fits, at most `MOST` of each kind; the newest or best at the front."""

    turns: list[str]
    messages: list[InboxRow]
    agents: list[str]
    chats: list[ChatHit]
    texts: list[MessageHit]

    @property
    def total(self) -> int:
        """How many fit."""
        return sum(len(kind) for kind in self)


def find(db: Database, text: str, *, texts: bool) -> Findings:
    """Return what a text fits; ``texts`` also looks for it in what was said."""
    low = text.lower()
    return Findings(
        turns=trace.turns_named(db, low)[:MOST] if len(text) >= SHORTEST else [],
        messages=trace.messages_named(db, text)[:MOST],
        agents=[name for name in _agents(db) if low in name][:MOST],
        chats=list(_chats(db, low))[:MOST],
        texts=_texts(db, text) if texts else [],
    )


def _agents(db: Database) -> Iterator[str]:
    return (str(name) for (name,) in db.execute(distinct("model_call", "agent_id", "true")))


def _chats(db: Database, text: str) -> Iterator[ChatHit]:
    rows = db.execute(
        "SELECT chat_key, sender_name FROM inbox WHERE id IN (SELECT max(id) FROM"
        " (SELECT id, chat_key, kind FROM inbox ORDER BY id DESC LIMIT ?) AS newest"
        " WHERE kind IN('message','task','hook') GROUP BY chat_key) ORDER BY id DESC",
        (LOOKED_AT,),
    )
    for key, sender in rows:
        name = chat_name(str(key))
        if text in name.lower() or text in str(sender).lower():
            yield ChatHit(str(key), name, str(sender))


def _texts(db: Database, text: str) -> list[MessageHit]:
    """Return the messages with all words of a text, the newest at the front."""
    terms = fulltext.words(text)
    if not terms:
        return []
    if is_postgresql(db):
        return HITS.select(db, ranking.EVERY_WORD, ranking.SEPARATOR.join(terms), MOST)
    wanted = " AND ".join(f'"{term}"' for term in terms)
    indexed = "SELECT rowid FROM message_words WHERE message_words MATCH ?1"
    rest = f"SELECT id FROM ({UNINDEXED}) WHERE instr(lower(text), ?2) > 0"
    where = f"said.id IN ({indexed} UNION ALL {rest}) ORDER BY said.id DESC LIMIT ?3"
    return HITS.select(db, where, wanted, text.lower(), MOST)
