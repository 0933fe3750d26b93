"""Check that an HTML page can do nothing that its author did not write into it."""

import unicodedata
from html.parser import HTMLParser
from urllib.parse import urlsplit

_ACTING = frozenset(
    {"style", "iframe", "frame", "frameset", "object", "embed", "base", "applet", "template"}
)
_WORDS = frozenset({"noopener", "noreferrer", "nofollow"})
_OUTWARD = frozenset({"http", "https", "mailto"})
_LOADING = frozenset({"src", "srcset", "data", "poster", "background", "xlink:href", "formaction"})
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs"})
_PLAIN = frozenset("\n\r\t\u200d")  # the last joins parts of emoji


class InertHtml(HTMLParser):
    """Reads a page; ``harm`` collects what acts, loads, leads away or cannot be seen."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.harm: list[str] = []
        self._script = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check a tag and its attributes."""
        given = {name: value or "" for name, value in attrs}
        self._script = tag == "script"
        if tag in _ACTING or (tag == "meta" and "http-equiv" in given):
            self.harm.append(f"<{tag}>")
        if tag == "script" and not _is_own(given.get("src", "//")):
            self.harm.append("a script of someone else")
        if tag == "link" and not _is_own(given.get("href", "//")):
            self.harm.append(f"<link> to {given.get('href')}")
        if tag == "form" and not _is_own(given.get("action", "/")):
            self.harm.append(f"a form to {given['action']}")
        if tag == "a" and not _is_open_link(given):
            self.harm.append(f"a link to {given.get('href')}")
        for name, value in given.items():
            if name.startswith("on") or name in {"style", "srcdoc"}:
                self.harm.append(f"{name} of <{tag}>")
            if name in _LOADING and not _is_own(value):
                self.harm.append(f"<{tag}> loads {value[:60]}")

    def handle_data(self, data: str) -> None:
        """Check a piece of text."""
        if self._script and data.strip():
            self.harm.append("a script in the page")
        hidden = {
            char for char in data if char not in _PLAIN and unicodedata.category(char) in _HIDDEN
        }
        self.harm += [f"U+{ord(char):04X} in a text" for char in sorted(hidden)]

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a script."""
        del tag
        self._script = False


def _is_own(address: str) -> bool:
    """Return whether an address is a path of the page itself."""
    return address.startswith("/") and not address.startswith(("//", "/\\"))


def _is_open_link(given: dict[str, str]) -> bool:
    """Return whether a link leads into the page, or to the web without a referrer."""
    address = given.get("href", "#")
    if address.startswith(("#", "?")) or _is_own(address):
        return True
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        return False
    return scheme in _OUTWARD and set(given.get("rel", "").split()) >= _WORDS
