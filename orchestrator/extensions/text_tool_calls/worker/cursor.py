"""Track strings in streamed JSON, so that a tag inside a string is not taken for a tag."""

import re

UNQUOTED = re.compile(r'[^"\\]*+')
BEFORE_STRING = frozenset("{[,:")  # what may precede a string in JSON, besides nothing
AFTER_STRING = frozenset("}],:")


class JsonCursor:
    """Follows JSON piece by piece, reading every character once.

    ``inside`` says whether the end of the text is in a string. ``broken`` says that the text cannot
    be JSON, so that ``inside`` means nothing. Only quoting mistakes are detected.
    """

    def __init__(self) -> None:
        self.inside = False
        self.broken = False
        self._escaped = False
        self._last = ""  # the last non-blank character outside strings

    def advance(self, text: str) -> None:
        position = 0
        while position < len(text) and not self.broken:
            if self._escaped:
                self._escaped = False
                position += 1
                continue
            run = UNQUOTED.match(text, position)
            end = run.end() if run else position
            if not self.inside:
                self._check_between(text[position:end].strip())
            if end < len(text):
                self._apply_mark(text[end])
            position = end + 1

    def _check_between(self, run: str) -> None:
        if run:
            self.broken = self._last == '"' and run[0] not in AFTER_STRING
            self._last = run[-1]

    def _apply_mark(self, mark: str) -> None:
        if mark == "\\":
            self._escaped = self.inside
            self.broken = not self.inside
        elif self.inside:
            self.inside = False
            self._last = mark
        else:
            self.inside = True
            self.broken = self.broken or (self._last != "" and self._last not in BEFORE_STRING)
