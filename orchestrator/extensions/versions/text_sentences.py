"""Say what changes in a text of words: how much came and went."""

from collections import Counter
from collections.abc import Collection


def describe_text(subject: str, old: str | None, new: str | None) -> list[str]:
    """Return whether a text is new, removed, longer, shorter or rewritten; empty if it is alike."""
    if old == new:
        return []
    if old is None:
        return [f"{subject} is new, with {count_words(new or '')}"]
    if new is None:
        return [f"{subject} is removed"]
    added, gone = _count_changed_words(old, new)
    if not added and not gone:
        return [f"{subject} has other spaces, lines or order, and the same words"]
    counted = ((added, "more"), (gone, "less"))
    changes = [f"{count_nouns(number, 'word')} {kind}" for number, kind in counted if number]
    return [f"{subject} has {' and '.join(changes)}"]


def count_words(text: str) -> str:
    """Return ``12 words``."""
    return count_nouns(len(text.split()), "word")


def count_nouns(number: int, noun: str) -> str:
    """Return a number of things, such as ``1 word`` or ``2 words``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def choose_verb(subjects: Collection[str], one: str = "is", many: str = "are") -> str:
    """Return the form of a verb that goes with its subjects."""
    return one if len(subjects) == 1 else many


def cut_text(text: str, most: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _count_changed_words(old: str, new: str) -> tuple[int, int]:
    before, after = Counter(old.split()), Counter(new.split())
    return (after - before).total(), (before - after).total()
