"""Fences around text of others, as a model reads them."""

import re

FENCE = re.compile(
    r"<untrusted-(\w+) from=\"([^\"]*)\" note=\"[^\"]*\">\n(.*?)\n</untrusted-\1>", re.DOTALL
)


def inside(text: str) -> str:
    """The text with what stands in fences, without the fences."""
    return FENCE.sub(lambda found: found[3], text)


def quoted(text: str) -> list[tuple[str, str]]:
    """The source and the text of each fence."""
    return [(found[2], found[3]) for found in FENCE.finditer(text)]
