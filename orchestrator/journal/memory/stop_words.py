"""The words that say nothing about what a text is about, in the languages of the product.

``stop_words.txt`` has them by language, without accents, as the index of messages has words. The
lines that begin with ``not`` are negations, which change what a fact says.
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from unicodedata import combining, normalize

# Words that are a name or a month where they are capitalized inside of a sentence.
NAMES = frozenset(("May", "Will", "US"))


def drop_stop_words(
    terms: Sequence[str], text: str = "", *, negations: bool = True
) -> Sequence[str]:
    """Return the terms of a text without stop words; all terms if there are no others.

    Only those of the text's own languages count: the ones that most of its words belong to.
    ``negations`` says whether these go as well.
    """
    plain = [remove_accents(term) for term in terms]
    hits = count_stop_words(plain)
    most = max(hits.values())
    own = [words for language, words in _load_lists().items() if hits[language] == most]
    inside = (word.strip("?!.,;:") for word in text.split()[1:])
    kept = {word.lower() for word in inside if word in NAMES}
    if not negations:
        kept |= _load_negations()
    dropped = frozenset().union(*own) - kept
    return [term for term, word in zip(terms, plain, strict=True) if word not in dropped] or terms


def count_stop_words(terms: Sequence[str]) -> dict[str, int]:
    """Return how many terms, without accents, are such words of each language."""
    lists = _load_lists()
    return {language: sum(term in words for term in terms) for language, words in lists.items()}


def remove_accents(text: str) -> str:
    """Return a text with each letter in its plain form: ``Müller`` as ``Muller``."""
    if text.isascii():
        return text
    signs = normalize("NFKD", text)
    return normalize("NFC", "".join(sign for sign in signs if not combining(sign)))


@cache
def _load_lists() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for language, words in _read_lines():
        found.setdefault(language.removeprefix("not "), set()).update(words)
    return {language: frozenset(words) for language, words in found.items()}


@cache
def _load_negations() -> frozenset[str]:
    lines = _read_lines()
    return frozenset(word for language, words in lines if language[:4] == "not " for word in words)


def _read_lines() -> list[tuple[str, list[str]]]:
    text = resources.files(__package__).joinpath("stop_words.txt").read_text("utf-8")
    lines = [line.split() for line in text.splitlines()]
    return [
        (f"not {line[1]}", line[2:]) if line[0] == "not" else (line[0], line[1:]) for line in lines
    ]
