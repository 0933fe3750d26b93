"""The manual: its pages, their sections, and a search through all of them.

The index is SQLite's FTS5 in memory. Its stemmer finds other forms of a word, and a few words that
users of other systems know stand for those of the manual.

Where: is the manual searched?
"""

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
EMPTY = frozenset(  # words that say nothing of what is looked for
    re.findall(
        r"\w+",
        "a an and are at be can do does for from get how i if in is it make me my of on or set some"
        " something that the this to up use using want what when where which why with you your",
    )
)
# Each group has words and phrases for one thing; a question with the first finds all of them, and
# so does one with any other single word.
SYNONYMS = (
    "docker, container, containerfile, podman, kubernetes",
    "delete, forget, erase, remove, gdpr",
    "person, people, user, forget person",
    "move, migrate, transfer, relocate, another machine",
    "machine, computer, server, host",
    "heartbeat, proactive, writes first",
    "cost, budget, price, spend, money, dollars",
    "ollama, llamacpp, local model",
    "reminder, task, schedule, cron",
    "approve, approval, confirm, permission",
    "voice, audio, speech",
    "plugin, extension",
    "crash, fail, error, trouble",
    "password, secret, key, token, credential",
    "backup, back up, restore",
    "silent, quiet, mute",
)
SAME = {"two": "second", "someone": "person", "somebody": "person", "anyone": "person"}
_TERMS = {word: group.split(", ") for group in SYNONYMS for word in group.split(", ")}
_SQL = (
    "SELECT page, heading, snippet(section, 2, '', '', ' … ', 28),"
    " bm25(section, 12.0, 12.0, 1.0, 0.5) * weight AS score"
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
