"""Leave addresses and file names as they are, though marks in them look like emphasis.

In CommonMark, ``https://example.com/_next_/x`` and ``__init__.py`` contain emphasized words.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.rules_inline import StateInline

_LONGEST = 200  # characters of a host and path before a mark, in which `www.` is looked for
# Marks belong to an address that goes on after them; parentheses if they are opened and closed.
_REST = re.compile(
    r"(?:[*_~`]++(?=[A-Za-z0-9/?=&%#(-])|\\[!-/:-@\[-`{-~]|\([^\s()<>\[\]]*+\)"
    r"|[^\s()<>\[\]\"*_~`\\\u3000-\u303f\uff00-\uffef]++)++"
)
_WEB_START = re.compile(r"(?<![\w.@-])www\.[^\s()<>\[\]\"\\]*\Z", re.IGNORECASE)
_NAME = re.compile(r"_++\w++")
_NAME_GOES_ON = re.compile(r"_++[^\W_][\w]*_[./\\@=]\w")  # `__init__.py`, `_mail_@example.org`
_NAME_BEGAN = re.compile(r"[/\\]\Z|[\w)\]][.=&?#@]\Z")  # `self.__dict__`, `/_next_/`
_GLOB = re.compile(r"\*++(?=/|\.\w)")  # `src/**/*.py`


def keep_addresses(parser: MarkdownIt) -> None:
    """Let ``parser`` read addresses and file names as plain text."""
    parser.inline.ruler.before("linkify", "address", _read_address)
    parser.normalizeLinkText = lambda url: url  # type: ignore[assignment,method-assign]  # not decoded


def _read_address(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  # the parser's rule
    found = _find_address(state.src, state.pos, state.posMax)
    if not found:
        return False
    if not silent:
        state.append_pending(unescapeAll(found[0]))
    state.pos = found.end()
    return True


def _find_address(text: str, at: int, end: int) -> re.Match[str] | None:
    """Return what goes on at ``at``: an address at its colon or at a mark, or a file name."""
    mark, before = text[at], text[max(0, at - 2) : at]
    if mark == ":":
        begins = text.startswith("//", at + 1) and before[-1:].isalpha()
        return _REST.match(text, at, end) if begins else None
    if mark not in "*_~`":
        return None
    if "www." in text[max(0, at - _LONGEST) : at].lower() and _WEB_START.search(
        text[max(0, at - _LONGEST) : at]
    ):
        return _REST.match(text, at, end)
    if mark == "*" and before.endswith("/"):
        return _GLOB.match(text, at, end)
    if mark == "_" and (_NAME_BEGAN.search(before) or _NAME_GOES_ON.match(text, at, end)):
        return _NAME.match(text, at, end)
    return None
