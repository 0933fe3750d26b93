"""Show the lines in which two texts differ."""

import difflib
from itertools import takewhile

AROUND = 2  # lines shown around a change
MAX_DIFFERENCE = 200_000  # characters
MAX_COMPARED = 4_000  # changed lines of both texts: comparing takes their square at worst


def format_difference(old: str, new: str) -> str:
    """Return the changed lines like ``diff -u``, without its header; empty if they are alike."""
    before, after = old.splitlines(), new.splitlines()
    if before == after:
        return ""
    start = _count_equal(before, after)
    end = _count_equal(before[start:][::-1], after[start:][::-1])
    changed = [lines[start : len(lines) - end] for lines in (before, after)]
    if sum(map(len, changed)) > MAX_COMPARED:
        return f"{len(changed[0])} lines become {len(changed[1])} others, from line {start + 1} on"
    first = max(0, start - AROUND)
    shown = [lines[first : len(lines) - max(0, end - AROUND)] for lines in (before, after)]
    found = difflib.unified_diff(shown[0], shown[1], n=AROUND, lineterm="")
    hunks = ("…" if line.startswith("@@ ") else line for line in list(found)[3:])
    text = "\n".join(hunks)
    return text if len(text) <= MAX_DIFFERENCE else f"{text[:MAX_DIFFERENCE]}\n…"


def _count_equal(one: list[str], other: list[str]) -> int:
    """Return how many lines at the beginning are alike."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
