"""Parse the HTML of replies: the few tags that `orchestrator.channels.formatting` writes.

A channel's process reads it to write the markup of its own platform.
"""

import html
import re
from collections.abc import Iterator
from typing import TypeAlias

# Text, and the tags that are open around it, the outermost first.
Run: TypeAlias = tuple[tuple[str, ...], str]

_TOKEN = re.compile(r"<[^>]*>|[^<]+")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&"))


def iter_runs(rendered: str) -> Iterator[Run]:
    """Yield each piece of a reply's text with its open tags, outermost first."""
    tags: tuple[str, ...] = ()
    for token in _TOKEN.findall(rendered):
        if token.startswith("</"):
            tags = tags[:-1]
        elif token.startswith("<"):
            tags = (*tags, token)
        else:
            yield tags, unescape_text(token)


def escape_text(text: str) -> str:
    """Escape tags and entities in text."""
    return html.escape(text, quote=False)


def unescape_text(text: str) -> str:
    """Undo `html.escape`; much faster than `html.unescape`, as it knows only those entities."""
    for entity, char in _ENTITIES if "&" in text else ():
        text = text.replace(entity, char)
    return text
