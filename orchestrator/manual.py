"""The manual: its pages, their sections, and a search through all of them.

The index is SQLite's FTS5 in memory. Its stemmer finds other forms of a word, and a few words that
users of other systems know stand for those of the manual.

Where: is the manual searched?
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from orchestrator.errors import FAULTS, describe_fault
from orchestrator.home_paths import find_bundled_path
from orchestrator.installed import find_installed

MANUAL = Path("orchestrator-guide", "references")  # below the bundled skills
GENERATED = "<!-- "  # begins the pages that are tables of all fields, which come after prose
WORD = re.compile(r"\w+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
MARKS = re.compile(r"\[([^\]]*)\]\([^)]*\)|[`*|#>]|-{3,}|<!--.*?-->", re.DOTALL)
# "synonyms" has groups of words and phrases for one thing: a question with one of its single words
# finds all. "same" replaces words, and those of "empty" say nothing of what is looked for.
_WORDS = json.loads(Path(__file__).with_name("manual_words.json").read_text("utf-8"))
SAME, EMPTY = _WORDS["same"], frozenset(_WORDS["empty"].split())
_GROUPS = [group.split(", ") for group in _WORDS["synonyms"]]
_TERMS = {word: group for group in _GROUPS for word in group}
_SQL = (
    "SELECT page, heading, snippet(section, 2, '', '', ' … ', 28),"
    " bm25(section, 12.0, 20.0, 1.0, 0.5) * weight AS score"
    " FROM section WHERE section MATCH ? ORDER BY score LIMIT 60"
)
OTHER_WORDS, SOME_WORDS = 0.6, 0.1  # shares of the score of a section with the very words, or all


class ManualHit(NamedTuple):
    """A section that a search found, with the passage around the words."""

    page: str
    heading: str
    passage: str


class ManualIndex:
    """Finds sections of pages by the words in them."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE section USING fts5"
            "(page, heading, body, parts, weight UNINDEXED, tokenize = 'porter unicode61')"
        )
        rows = [row for name, text in pages.items() for row in _list_rows(name, text)]
        self._db.executemany("INSERT INTO section VALUES(?, ?, ?, ?, ?)", rows)

    def search(self, question: str, limit: int = 8) -> Sequence[ManualHit]:
        """Return the best section of each page that fits, best first."""
        typed = [SAME.get(word, word) for word in WORD.findall(question.lower())]
        words = [word for word in typed if word not in EMPTY] or typed
        if not words:
            return ()
        terms = [" OR ".join(f'"{one}"' for one in _TERMS.get(word, (word,))) for word in words]
        queries = (
            (" AND ".join(f'"{word}"' for word in words), 1.0),
            (" AND ".join(f"({term})" for term in terms), OTHER_WORDS),
            (" OR ".join(f"({term})" for term in terms), SOME_WORDS),
        )
        found: dict[str, tuple[float, ManualHit]] = {}
        for query, share in queries:
            for page, heading, passage, score in self._db.execute(_SQL, (query,)):
                hit = float(score) * share, ManualHit(str(page), str(heading), str(passage))
                found[hit[1].page] = min(found.get(hit[1].page, hit), hit)
        return tuple(hit for _, hit in sorted(found.values()))[:limit]


def _list_rows(page: str, text: str) -> list[tuple[str, str, str, str, float]]:
    """Return the sections of a page as rows of the index; the first is what precedes them."""
    intro, _, _ = text.partition("\n## ")
    title = next((line[2:] for line in text.split("\n") if line.startswith("# ")), page)
    sections = {title: intro.partition("\n# ")[2].partition("\n")[2] or intro}
    sections |= split_sections(text)
    weight = 0.6 if text.startswith(GENERATED) else 1.0  # bm25 is negative: more is better
    return [
        (page, heading, body := clean_markdown(part), CAMEL.sub(" ", body), weight)
        for heading, part in sections.items()
    ]


def clean_markdown(text: str) -> str:
    """Return the text of a section in one line, without its heading and marks."""
    body = text.partition("\n")[2] if text.startswith("## ") else text
    return " ".join(MARKS.sub(r" \1 ", body).split())


def load_manual(tell: Callable[[str], None]) -> Mapping[str, str]:
    """Return the manual's pages, keyed by name: the bundled ones and those of extensions.

    ``tell`` is called with the reason for each extension whose pages are left out.
    """
    bundled = (find_bundled_path("skills") / MANUAL).glob("*.md")
    pages = {file.stem: file.read_text("utf-8") for file in bundled}
    for extension in find_installed().every():
        try:
            added = {file.stem: file.read_text("utf-8") for file in extension.list_manual_pages()}
        except FAULTS as error:
            tell(f"extension '{extension.name}' has no readable pages: {describe_fault(error)}")
            continue
        pages = {**added, **pages}
    return dict(sorted(pages.items()))


def split_sections(text: str) -> Mapping[str, str]:
    """Return the sections of a page, keyed by heading; code is left whole."""
    parts = re.split(r"(?m)^(?=## )", text)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part for part in parts}
