"""Full-text search: the terms of a text, and the merging of two kinds of hits into one ranking."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from orchestrator.journal.postgresql.ranking import Index

Scores: TypeAlias = Mapping[int, float]  # of rows by id; more is better
POOL = 3  # times the limit: the hits of each kind that are ranked
TERMS = 100  # of a text, at most: a query with 60,000 would block the journal for ten seconds
PAIRS = 24  # likewise, of pairs of characters, which no index answers
TRIGRAM = 3  # characters: the shortest text that a trigram index can find
PAIR = 2
FIRST_WEIGHT, SECOND_WEIGHT = 0.6, 0.4  # of the two kinds of hits; the first is more reliable
ALL_EQUAL = 0.5  # the normalized score of hits that are all equal
# Runs of scripts that are written without spaces (Thai to Khmer, kana, Han), and Hangul.
SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# English words that most facts contain; the other words tell what a fact is about.
STOP_WORDS = re.compile(
    r"a|about|all|also|always|an|and|any|are|as|at|be|been|but|by|can|does|for|from|had|has"
    r"|have|he|her|his|i|if|in|into|is|it|its|like|likes|me|my|no|not|of|on|or|our|s|she|so"
    r"|some|that|the|their|them|there|they|this|to|user|users|very|was|we|were|what|when|which"
    r"|who|will|with|would|you|your"
)


def search(
    text: str,
    limit: int,
    match: Callable[[Index, list[str]], Scores],
    scan: Callable[[list[str]], Scores],
) -> list[tuple[int, float]]:
    """Return the ids of rows that match a text, with their scores, best first.

    Words are looked up by their stem. If they find fewer rows than ``limit``, a trigram index finds
    words of scripts without spaces (Chinese, Japanese), and a scan words of two characters.
    ``match`` returns the hits of the index ``words`` or ``grams`` for any of some terms; ``scan``
    returns the rows that contain one of them anywhere.
    """
    found: Scores = match("words", terms) if (terms := words(text)) else {}
    parts: Scores = {}
    if text.isascii():  # it has none of these
        return hybrid_rank(found, parts)
    if len(found) < limit and (terms := grams(text)):
        parts = match("grams", terms)
    if len(found.keys() | parts.keys()) < limit and (terms := pairs(text)):
        parts = scan(terms) or parts
    return hybrid_rank(found, parts)


def words(text: str) -> list[str]:
    return first_terms(_words(text), TERMS)


def grams(text: str) -> list[str]:
    """Return the trigrams of a text that are not ASCII, for scripts without spaces."""
    parts = (word[i : i + TRIGRAM] for word in _words(text) for i in range(len(word) - TRIGRAM + 1))
    return first_terms((part for part in parts if not part.isascii()), TERMS)


def pairs(text: str) -> list[str]:
    """Return the pairs of characters of scripts without spaces, where most words are that short."""
    runs = (found[0] for found in SPACELESS.finditer(text.lower()))
    parts = (run[i : i + PAIR] for run in runs for i in range(max(1, len(run) - PAIR + 1)))
    return first_terms(parts, PAIRS)


def any_of(terms: Iterable[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


def keywords(text: str) -> frozenset[str]:
    found = {word for word in words(SPACELESS.sub(" ", text)) if not STOP_WORDS.fullmatch(word)}
    return frozenset(found | set(pairs(text)))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the smaller set that is in both; 0 if one is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def normalized(scores: Scores) -> dict[int, float]:
    """Scale scores to between 0 (worst) and 1 (best); all are 0.5 if they are equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, ALL_EQUAL)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def hybrid_rank(first: Scores, second: Scores) -> list[tuple[int, float]]:
    """Merge two kinds of hits; return ids with their weighted scores, best first."""
    one, two = normalized(first), normalized(second)
    scores = {
        key: FIRST_WEIGHT * one.get(key, 0.0) + SECOND_WEIGHT * two.get(key, 0.0)
        for key in sorted(one | two)
    }
    return sorted(scores.items(), key=lambda item: -item[1])


def _words(text: str) -> Iterator[str]:
    return (found[0] for found in re.finditer(r"\w+", text.lower()))


def first_terms(terms: Iterable[str], count: int) -> list[str]:
    """Return the first ``count`` different terms, and look at no more than these take."""
    found: dict[str, None] = {}
    for term in terms:
        found[term] = None
        if len(found) == count:
            break
    return list(found)
