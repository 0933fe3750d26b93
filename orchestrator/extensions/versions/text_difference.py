"""Show the lines in which two texts differ."""

import difflib

MAX_DIFFERENCE = 200_000  # characters
MAX_COMPARED = 20_000  # lines of both texts: in the worst case, comparing takes their square


def format_difference(old: str, new: str) -> str:
    """Return the changed lines like ``diff -u``, without its header."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > MAX_COMPARED:
        return f"{len(before)} lines before, {len(after)} lines after"
    lines = difflib.unified_diff(before, after, n=2, lineterm="")
    found = "\n".join(list(lines)[2:])
    return found if len(found) <= MAX_DIFFERENCE else f"{found[:MAX_DIFFERENCE]}\n…"
