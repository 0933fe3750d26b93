"""Rank tools by how well they fit a text: BM25 over their names and descriptions.

The index is an SQLite database in memory. It is created (3 ms, 3 MB) the first time an agent has
more tools than can be offered, and rebuilt only when the tools change.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from thinker.playbooks import Matcher, Playbook
from thinker.protocol.messages import ToolSpec
from thinker.protocol.vectors import RELEVANT

if TYPE_CHECKING:  # most workers never load it
    import apsw

NAME_WEIGHT, DESCRIPTION_WEIGHT = 2.0, 1.0  # a name says more than a description
MAX_TERMS = 100  # words of a text in one query


class Ranking:
    """Ranks the tools of an agent."""

    def __init__(self) -> None:
        self._indexed: tuple[tuple[str, str], ...] = ()
        self._db: apsw.Connection | None = None
        self._keyed: Sequence[ToolSpec] = ()
        self._matcher = Matcher(())

    def list_called_tools(
        self, tools: Sequence[ToolSpec], text: str, scores: Mapping[str, float]
    ) -> list[str]:
        """Return the names of tools on demand that fit a text by name, keyword or meaning."""
        if tools != self._keyed:
            books = (Playbook(t.name, "", "", (t.name, *t.keywords)) for t in tools if t.keywords)
            self._matcher, self._keyed = Matcher([*books]), tools
        named = [book.name for book in self._matcher.match(text)]
        near = [t.name for t in tools if t.keywords and scores.get(t.name, 0.0) >= RELEVANT]
        return [*dict.fromkeys((*named, *near))]

    def rank_tools(self, tools: Mapping[str, ToolSpec], text: str) -> list[str]:
        """Return the names of the tools that share a word with the text, best first."""
        words = dict.fromkeys(_split_words(text).split())
        query = " OR ".join(f'"{word}"' for word in list(words)[:MAX_TERMS])
        if not query:
            return []
        found = self._refresh_index(tools).execute(
            "SELECT tool FROM words WHERE words MATCH ? ORDER BY bm25(words, 0, ?, ?), tool",
            (query, NAME_WEIGHT, DESCRIPTION_WEIGHT),
        )
        return [str(name) for (name,) in found]

    def _refresh_index(self, tools: Mapping[str, ToolSpec]) -> "apsw.Connection":
        indexed = tuple(sorted((name, tool.description) for name, tool in tools.items()))
        if self._db is None or indexed != self._indexed:
            self._db, self._indexed = _build_index(indexed), indexed
        return self._db


def _build_index(tools: tuple[tuple[str, str], ...]) -> "apsw.Connection":
    import apsw  # noqa: PLC0415 - not needed if all tools fit

    db = apsw.Connection(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE words USING fts5(tool UNINDEXED, name, description,"
        " tokenize='porter unicode61')"
    )
    with db:
        db.executemany(
            "INSERT INTO words VALUES(?, ?, ?)",
            ((name, _split_words(name), _split_words(description)) for name, description in tools),
        )
    return db


def _split_words(text: str) -> str:
    """Return the words of a text, or of a name in any case style, in lower case."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[^\W_]+", apart.lower()))
