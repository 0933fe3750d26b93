"""Tell a call that a model makes from one that it quotes."""

import re
from collections.abc import Iterable

from thinker.protocol.messages import Message

FENCE_LINE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
INDENTED = 4  # columns; Markdown shows such a line as code
QUOTES = tuple("\"'“„«‘")  # noqa: RUF001 - as people quote
HEAD = 256  # characters of a line that are checked before a tag


def has_untrusted_text(messages: Iterable[Message]) -> bool:
    """Return whether a conversation contains text of a stranger, a tool or a page."""
    return any(message.is_untrusted for message in messages)


class Quotation:
    """Follows Markdown piece by piece; ``is_quoted`` tells whether the next text is quoted."""

    def __init__(self) -> None:
        self._line = ""  # the beginning of the last line
        self._end = ""  # its last character
        self._ticks = 0
        self._fence = ""

    @property
    def is_quoted(self) -> bool:
        head = self._line.lstrip(" \t")
        if self._fence or head.startswith(">") or self._ticks % 2:
            return True
        if not head:
            return len(self._line.expandtabs(INDENTED)) >= INDENTED
        return self._end.endswith(QUOTES)

    def advance(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                self._end_line()
            self._line += line[: HEAD - len(self._line)]
            self._end = line[-1:] or self._end
            self._ticks += line.count("`")

    def _end_line(self) -> None:
        found = FENCE_LINE.match(self._line)
        if found is not None and not self._fence:
            self._fence = found[1]
        elif found is not None and found[1].startswith(self._fence) and not found[2].strip():
            self._fence = ""
        self._line, self._end, self._ticks = "", "", 0
