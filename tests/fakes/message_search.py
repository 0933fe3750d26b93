"""The search in conversations, in the steps of its tool but on one connection."""

from collections.abc import Mapping
from itertools import islice

from orchestrator.extensions.memory import message_search
from orchestrator.extensions.memory.message_ranking import rank_messages
from orchestrator.extensions.memory.message_search import EVERY_MESSAGE, FoundMessage, MessageFilter
from orchestrator.extensions.memory.query_terms import read_question
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope


def search_messages(
    db: Database,
    memory: MemoryScope,
    query: str,
    limit: int,
    wanted: MessageFilter = EVERY_MESSAGE,
    near: Mapping[int, float] | None = None,
) -> list[FoundMessage]:
    """The indexed messages of a memory that match a query best, best first.

    ``near`` are scores from 0 to 1 of a second source, by message id.
    """
    question = read_question(query)
    found = message_search.look_up(db, memory, question)
    places = message_search.load_places(db, near or {})
    ranked = rank_messages(found.postings, found.total, places)
    return [*islice(message_search.read_messages(db, memory, question, ranked, wanted), limit)]
