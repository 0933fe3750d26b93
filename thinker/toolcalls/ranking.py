"""The order in which tools fit a text: BM25 over their names and descriptions.

Kept in an SQLite database in memory, which is made when the first agent has more tools than can be
offered (3 ms and 3 MB) and made anew only when the tools change.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from thinker.protocol.messages import ToolSpec

if TYPE_CHECKING:  # most workers never need it
    import apsw

NAME_WEIGHT, DESCRIPTION_WEIGHT = 2.0, 1.0  # a word of the name tells more
TERMS = 100  # words of a text that are looked up


class Ranking:
    """Ranks the tools of an agent."""

    def __init__(self) -> None:
        self._indexed: tuple[tuple[str, str], ...] = ()
        self._db: apsw.Connection | None = None

    def rank(self, tools: Mapping[str, ToolSpec], text: str) -> list[str]:
        """The names of the tools that share a word with the text, best first."""
        words = dict.fromkeys(_words(text).split())
        query = " OR ".join(f'"{word}"' for word in list(words)[:TERMS])
        if not query:
            return []
        found = self._index(tools).execute(
            "SELECT tool FROM words WHERE words MATCH ? ORDER BY bm25(words, 0, ?, ?), tool",
            (query, NAME_WEIGHT, DESCRIPTION_WEIGHT),
        )
        return [str(name) for (name,) in found]

    def _index(self, tools: Mapping[str, ToolSpec]) -> "apsw.Connection":
        wanted = tuple(sorted((name, tool.description) for name, tool in tools.items()))
        if self._db is None or wanted != self._indexed:
            self._db, self._indexed = _build(wanted), wanted
        return self._db


def _build(tools: tuple[tuple[str, str], ...]) -> "apsw.Connection":
    import apsw  # noqa: PLC0415 - a worker whose tools all fit never loads it

    db = apsw.Connection(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE words USING fts5(tool UNINDEXED, name, description,"
        " tokenize='porter unicode61')"
    )
    with db:
        db.executemany(
            "INSERT INTO words VALUES(?, ?, ?)",
            ((name, _words(name), _words(description)) for name, description in tools),
        )
    return db


def _words(text: str) -> str:
    """The words of a text or of a name in whatever case, apart and in lower case."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[^\W_]+", apart.lower()))
