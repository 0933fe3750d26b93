"""Where a growing text of JSON stands, so that a tag in one of its strings is not taken for one."""

import re

UNQUOTED = re.compile(r'[^"\\]*+')
BEFORE_STRING = frozenset("{[,:")  # what JSON allows before a string (or nothing at all)
AFTER_STRING = frozenset("}],:")


class JsonCursor:
    """Follows JSON piece by piece; looks at every character once.

    ``inside`` says whether it stands in a string; ``broken`` that the text cannot be JSON, so
    that ``inside`` means nothing. It does not find every mistake, only those of quoting.
    """

    def __init__(self) -> None:
        self.inside = False
        self.broken = False
        self._escaped = False
        self._last = ""  # the newest character outside strings that is not blank

    def advance(self, text: str) -> None:
        """Go on over the next piece."""
        position = 0
        while position < len(text) and not self.broken:
            if self._escaped:
                self._escaped = False
                position += 1
                continue
            run = UNQUOTED.match(text, position)
            end = run.end() if run else position
            if not self.inside:
                self._between(text[position:end].strip())
            if end < len(text):
                self._mark(text[end])
            position = end + 1

    def _between(self, run: str) -> None:
        if run:
            self.broken = self._last == '"' and run[0] not in AFTER_STRING
            self._last = run[-1]

    def _mark(self, mark: str) -> None:
        if mark == "\\":
            self._escaped = self.inside
            self.broken = not self.inside
        elif self.inside:
            self.inside = False
            self._last = mark
        else:
            self.inside = True
            self.broken = self.broken or (self._last != "" and self._last not in BEFORE_STRING)
