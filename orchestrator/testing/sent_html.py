"""Read the HTML of a reply as strictly as Telegram does: only known tags, closed in order."""

import html
import re

TAGS = {"b", "i", "u", "s", "code", "pre", "a", "blockquote"}
_TAG = re.compile(r'<(/?)([a-z]+)((?:\s[a-z]+="[^"<>]*")*)>')


def read_reply_html(text: str) -> str:
    """Return the text that a reader of a reply sees.

    Raises:
        ValueError: a tag is unknown or not closed, or the text has a stray ``<``.
    """
    open_tags: list[str] = []
    for found in re.finditer("<[^>]*>?", text):
        tag = _TAG.fullmatch(found[0])
        if not tag or tag[2] not in TAGS:
            raise ValueError(found[0])
        if not tag[1]:
            open_tags.append(tag[2])
        elif not open_tags or open_tags.pop() != tag[2]:
            raise ValueError("unmatched end tag")
    if open_tags:
        raise ValueError(f"no end tag for {open_tags}")
    return html.unescape(_TAG.sub("", text))
