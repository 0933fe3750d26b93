"""Full-text search: extract terms, and merge two kinds of hits into one ranking."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from orchestrator.journal.db.dialect import Index
from orchestrator.journal.memory.stop_words import drop_stop_words, remove_accents

Scores: TypeAlias = Mapping[int, float]  # of rows by id; more is better
POOL = 3  # times the limit: the hits of each kind that are ranked
MAX_TERMS = 100  # of a text, at most: a query with 60,000 would block the journal for ten seconds
MAX_PAIRS = 24  # likewise, of pairs of characters, which no index answers
TRIGRAM = 3  # characters: the shortest text that a trigram index can find
PAIR = 2
FIRST_WEIGHT, SECOND_WEIGHT = 0.6, 0.4  # of the two kinds of hits; the first is more reliable
ALL_EQUAL = 0.5  # the normalized score of hits that are all equal
# Runs of scripts that are written without spaces (Thai to Khmer, kana, Han), and Hangul.
SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
ASCII_WORD = re.compile(r"[a-z0-9]+")
WORD = re.compile(r"[^\W_]+")
ARABIC_WORD = re.compile("^[\u0648\u0628\u0641\u0643]?\u0627\u0644(\\w{3,})")  # after its article


def search_index(
    text: str,
    limit: int,
    match: Callable[[Index, Sequence[str]], Scores],
    scan: Callable[[list[str]], Scores],
) -> list[tuple[int, float]]:
    """Return the ids of matching rows with scores, best first.

    Words are looked up by their stem, stop words only if there are no others. If they find fewer
    rows than ``limit``, a trigram index finds words of scripts without spaces (Chinese, Japanese),
    and a scan words of two characters.
    ``match`` returns the hits of the index ``words`` or ``grams`` for any of some terms; ``scan``
    returns the rows that contain one of them anywhere.
    """
    terms = drop_stop_words(extract_words(text), text, negations=False)
    found: Scores = match("words", terms) if terms else {}
    parts: Scores = {}
    if text.isascii():  # the text has none of these
        return merge_scores(found, parts)
    if len(found) < limit and (terms := extract_trigrams(text)):
        parts = match("grams", terms)
    if len(found.keys() | parts.keys()) < limit and (terms := extract_pairs(text)):
        parts = scan(terms) or parts
    return merge_scores(found, parts)


def extract_words(text: str) -> list[str]:
    return take_first_terms(split_words(text), MAX_TERMS)


def extract_trigrams(text: str) -> list[str]:
    """Return the trigrams of a text that are not ASCII, for scripts without spaces."""
    parts = (
        word[i : i + TRIGRAM] for word in split_words(text) for i in range(len(word) - TRIGRAM + 1)
    )
    return take_first_terms((part for part in parts if not part.isascii()), MAX_TERMS)


def extract_pairs(text: str) -> list[str]:
    """Return the pairs of characters of scripts without spaces, where most words are that short."""
    runs = (found[0] for found in SPACELESS.finditer(text.lower()))
    parts = (run[i : i + PAIR] for run in runs for i in range(max(1, len(run) - PAIR + 1)))
    return take_first_terms(parts, MAX_PAIRS)


def normalize_scores(scores: Scores) -> dict[int, float]:
    """Scale scores to between 0 (worst) and 1 (best); all are 0.5 if they are equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, ALL_EQUAL)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def merge_scores(first: Scores, second: Scores) -> list[tuple[int, float]]:
    """Merge two kinds of hits; return ids with their weighted scores, best first."""
    one, two = normalize_scores(first), normalize_scores(second)
    scores = {
        key: FIRST_WEIGHT * one.get(key, 0.0) + SECOND_WEIGHT * two.get(key, 0.0)
        for key in sorted(one | two)
    }
    return sorted(scores.items(), key=lambda item: -item[1])


def split_words(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case."""
    return (found[0] for found in re.finditer(r"\w+", text.lower()))


def take_first_terms(terms: Iterable[str], count: int) -> list[str]:
    """Return the first ``count`` distinct terms, reading no further than needed."""
    found: dict[str, None] = {}
    for term in terms:
        found[term] = None
        if len(found) == count:
            break
    return list(found)


def split_terms(text: str) -> list[str]:
    """Return the terms of a text that the index of messages has, in order.

    They are words in small letters and without accents. Of scripts without spaces they are each
    pair of characters, and the last character of a run.
    """
    text = text.casefold()
    if text.isascii():
        return ASCII_WORD.findall(text)
    found: list[str] = []
    for word in WORD.findall(SPACELESS.sub(r" \g<0> ", remove_accents(text))):
        if SPACELESS.match(word):
            found += (word[place : place + PAIR] for place in range(len(word)))
        else:
            found.append(word)
            found += ARABIC_WORD.findall(word)
    return found
