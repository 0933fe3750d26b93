"""Say what changes in a text of words: how much came and went."""

from collections import Counter


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
    changes = [
        f"{_count(number)} {kind}" for number, kind in ((added, "more"), (gone, "less")) if number
    ]
    return [f"{subject} has {' and '.join(changes)}"]


def count_words(text: str) -> str:
    """Return ``12 words``."""
    return _count(len(text.split()))


def _count(number: int) -> str:
    return f"{number:,} word" if number == 1 else f"{number:,} words"


def _count_changed_words(old: str, new: str) -> tuple[int, int]:
    before, after = Counter(old.split()), Counter(new.split())
    return (after - before).total(), (before - after).total()
