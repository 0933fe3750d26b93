"""Full-text search: what a text is looked up by, and how two kinds of hits become one order."""

import re
from collections.abc import Iterable, Mapping

TERMS = 100  # of a text that are looked up: sixty thousand would hold the journal for ten seconds
PAIRS = 24  # likewise, of those that no index answers
TRIGRAM = 3  # characters: the shortest text that a trigram index can find
PAIR = 2
FIRST_WEIGHT, SECOND_WEIGHT = 0.6, 0.4  # annabelle.md §8
ALL_EQUAL = 0.5  # the normalised score where there is no difference
# Runs of scripts that are written without spaces (Thai to Khmer, kana, Han), and Hangul.
SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# English words that most facts have: what is left of a fact is what it is about.
STOP_WORDS = re.compile(
    r"a|about|all|also|always|an|and|any|are|as|at|be|been|but|by|can|does|for|from|had|has"
    r"|have|he|her|his|i|if|in|into|is|it|its|like|likes|me|my|no|not|of|on|or|our|s|she|so"
    r"|some|that|the|their|them|there|they|this|to|user|users|very|was|we|were|what|when|which"
    r"|who|will|with|would|you|your"
)


def words(text: str) -> list[str]:
    """The words of a text, each once."""
    return _first(re.findall(r"\w+", text.lower()), TERMS)


def grams(text: str) -> list[str]:
    """The trigrams of words that are not ASCII: a word index knows only where words end."""
    found = re.findall(r"\w+", text.lower())
    parts = (word[i : i + TRIGRAM] for word in found for i in range(len(word) - TRIGRAM + 1))
    return _first((part for part in parts if not part.isascii()), TERMS)


def pairs(text: str) -> list[str]:
    """Two characters each of what is written without spaces, where most words are that short."""
    runs = SPACELESS.findall(text.lower())
    parts = (run[i : i + PAIR] for run in runs for i in range(max(1, len(run) - PAIR + 1)))
    return _first(parts, PAIRS)


def any_of(terms: Iterable[str]) -> str:
    """The FTS5 query that finds whatever has one of the terms."""
    return " OR ".join(f'"{term}"' for term in terms)


def keywords(text: str) -> frozenset[str]:
    """What a sentence is about: its words without those that most sentences have."""
    found = {word for word in words(SPACELESS.sub(" ", text)) if not STOP_WORDS.fullmatch(word)}
    return frozenset(found | set(pairs(text)))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the smaller set that both have; 0 when one is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def normalized(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores between 0 (the worst) and 1 (the best); 0.5 each when they are all equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, ALL_EQUAL)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def hybrid_rank(first: Mapping[int, float], second: Mapping[int, float]) -> list[tuple[int, float]]:
    """Ids with their merged scores, best first; the first kind of hit is the surer one."""
    one, two = normalized(first), normalized(second)
    scores = {
        key: FIRST_WEIGHT * one.get(key, 0.0) + SECOND_WEIGHT * two.get(key, 0.0)
        for key in sorted(one | two)
    }
    return sorted(scores.items(), key=lambda item: -item[1])


def _first(terms: Iterable[str], count: int) -> list[str]:
    return list(dict.fromkeys(terms))[:count]
