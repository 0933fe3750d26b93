"""Read the HTML of replies: the few tags that `orchestrator.channels.formatting` writes.

A channel's process reads it to write the markup of its own platform.
"""

import html
import re
from collections.abc import Iterator
from typing import TypeAlias

# A text, and the tags that are open around it, the outermost first.
Run: TypeAlias = tuple[tuple[str, ...], str]

_TOKEN = re.compile(r"<[^>]*>|[^<]+")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&"))


def runs(rendered: str) -> Iterator[Run]:
    """Yield the texts of a reply, each with the tags that are open around it."""
    tags: tuple[str, ...] = ()
    for token in _TOKEN.findall(rendered):
        if token.startswith("</"):
            tags = tags[:-1]
        elif token.startswith("<"):
            tags = (*tags, token)
        else:
            yield tags, unescaped(token)


def escaped(text: str) -> str:
    """Return text in which nothing is a tag or an entity."""
    return html.escape(text, quote=False)


def unescaped(text: str) -> str:
    """Undo `html.escape`, which wrote all entities there are: much faster than for any HTML."""
    for entity, char in _ENTITIES if "&" in text else ():
        text = text.replace(entity, char)
    return text
