"""The words that tell what a fact is about, and how many two facts share."""

import re

from orchestrator.journal.memory.fulltext import SPACELESS, extract_pairs, extract_words

# English words that most facts contain; the other words tell what a fact is about.
STOP_WORDS = re.compile(
    r"a|about|all|also|always|an|and|any|are|as|at|be|been|but|by|can|does|for|from|had|has"
    r"|have|he|her|his|i|if|in|into|is|it|its|like|likes|me|my|no|not|of|on|or|our|s|she|so"
    r"|some|that|the|their|them|there|they|this|to|user|users|very|was|we|were|what|when|which"
    r"|who|will|with|would|you|your"
)


def extract_keywords(text: str) -> frozenset[str]:
    found = {
        word for word in extract_words(SPACELESS.sub(" ", text)) if not STOP_WORDS.fullmatch(word)
    }
    return frozenset(found | set(extract_pairs(text)))


def measure_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the smaller set that both have; 0 if one is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
