"""Find turns, messages, agents, chats and message text by a few characters."""

from collections.abc import Callable, Iterator, Sized
from typing import NamedTuple, TypeVar

from orchestrator.errors import QueryTimeoutError
from orchestrator.extensions.page.screen_request import JournalView
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
T = TypeVar("T")


class ChatHit(NamedTuple):
    """A chat, its name for people, and the name of its last sender."""

    key: str
    name: str
    sender: str


class SearchMatches(NamedTuple):
    """The matches, at most `MAX_MATCHES` of each kind, newest or best first.

    ``cut`` names the kinds whose search took too long.
    """

    turns: list[str]
    messages: list[InboxRow]
    agents: list[str]
    chats: list[ChatHit]
    texts: list[MessageHit]
    cut: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The number of matches."""
        return sum(map(len, self._lists))

    @property
    def is_full(self) -> bool:
        """Whether there may be more matches of a kind than are listed."""
        return any(len(found) >= MAX_MATCHES for found in self._lists)

    @property
    def _lists(self) -> tuple[Sized, ...]:
        return self.turns, self.messages, self.agents, self.chats, self.texts


async def search_journal(journal: JournalView, text: str, *, texts: bool) -> SearchMatches:
    """Return the matches of ``text``; with ``texts``, also in the text of messages.

    Each kind is a query of its own, so that one that takes too long leaves the others.
    """
    cut: list[str] = []

    async def search(kind: str, find: Callable[[Database, str], list[T]]) -> list[T]:
        try:
            return (await journal(find, text))[:MAX_MATCHES]
        except QueryTimeoutError:
            cut.append(kind)
            return []

    return SearchMatches(
        turns=await search("turns", _list_matching_turns),
        messages=await search("messages", trace.list_messages_named),
        agents=await search("agents", _list_matching_agents),
        chats=await search("chats", _list_matching_chats),
        texts=await search("texts", _search_texts) if texts else [],
        cut=tuple(cut),
    )


def _list_matching_turns(db: Database, text: str) -> list[str]:
    return trace.list_turns_named(db, text.lower()) if len(text) >= MIN_ID_LENGTH else []


def _list_matching_agents(db: Database, text: str) -> list[str]:
    names = db.execute(build_distinct_query("model_call", "agent_id", "true"))
    return [str(name) for (name,) in names if text.lower() in str(name).lower()]


def _list_matching_chats(db: Database, text: str) -> list[ChatHit]:
    return list(_iter_matching_chats(db, text.lower()))


def _iter_matching_chats(db: Database, text: str) -> Iterator[ChatHit]:
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
