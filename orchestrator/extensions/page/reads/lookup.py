"""Find turns, messages, agents, chats and message text by a few characters."""

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.journal.db.database import Database, build_distinct_query
from orchestrator.journal.db.dialect import get_dialect
from orchestrator.journal.inspect import trace
from orchestrator.journal.inspect.message_hits import HITS, MessageHit
from orchestrator.journal.memory import fulltext
from orchestrator.journal.turns.inbox import InboxRow
from thinker.protocol.names import format_chat_name

MAX_MATCHES = 8  # of each kind
MIN_ID_LENGTH = 4  # characters of a turn's id
MAX_MESSAGES = 5000  # newest messages whose chats are compared


class ChatHit(NamedTuple):
    """A chat, its name for people, and the name of its last sender."""

    key: str
    name: str
    sender: str


class SearchMatches(NamedTuple):
    """The matches, at most `MAX_MATCHES` of each kind, newest or best first."""

    turns: list[str]
    messages: list[InboxRow]
    agents: list[str]
    chats: list[ChatHit]
    texts: list[MessageHit]

    @property
    def total(self) -> int:
        """The number of matches."""
        return sum(len(kind) for kind in self)


def search_journal(db: Database, text: str, *, texts: bool) -> SearchMatches:
    """Return the matches of ``text``; with ``texts``, also in the text of messages."""
    low = text.lower()
    return SearchMatches(
        turns=trace.list_turns_named(db, low)[:MAX_MATCHES] if len(text) >= MIN_ID_LENGTH else [],
        messages=trace.list_messages_named(db, text)[:MAX_MATCHES],
        agents=[name for name in _list_agents(db) if low in name][:MAX_MATCHES],
        chats=list(_list_matching_chats(db, low))[:MAX_MATCHES],
        texts=_search_texts(db, text) if texts else [],
    )


def _list_agents(db: Database) -> Iterator[str]:
    return (
        str(name) for (name,) in db.execute(build_distinct_query("model_call", "agent_id", "true"))
    )


def _list_matching_chats(db: Database, text: str) -> Iterator[ChatHit]:
    rows = db.execute(
        "SELECT chat_key, sender_name FROM inbox WHERE id IN (SELECT max(id) FROM"
        " (SELECT id, chat_key, kind FROM inbox ORDER BY id DESC LIMIT ?) AS newest"
        " WHERE kind IN('message','task','hook') GROUP BY chat_key) ORDER BY id DESC",
        (MAX_MESSAGES,),
    )
    for key, sender in rows:
        name = format_chat_name(str(key))
        if text in name.lower() or text in str(sender).lower():
            yield ChatHit(str(key), name, str(sender))


def _search_texts(db: Database, text: str) -> list[MessageHit]:
    """Return the messages that contain every word of ``text``, newest first."""
    terms = fulltext.take_first_terms(fulltext.split_terms(text), fulltext.MAX_TERMS)
    if not terms:
        return []
    where, values = get_dialect(db).build_every_word_condition(db, terms, text, MAX_MATCHES)
    return HITS.select(db, where, *values)
