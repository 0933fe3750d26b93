"""Split a growing answer into the part to print permanently and the part that may change.

Text that has scrolled away cannot be changed. So a block of Markdown is printed when the next one
has begun, and shown below until then.
"""

from markdown_it import MarkdownIt

_BLOCKS = MarkdownIt().enable("table")


def measure_settled_text(markdown: str) -> int:
    """Return the length of the text before its last block, which may still grow."""
    starts = [token.map[0] for token in _BLOCKS.parse(markdown) if token.level == 0 and token.map]
    lines = markdown.split("\n")[: starts[-1]] if starts else []
    return sum(len(line) + 1 for line in lines)


class AnswerStream:
    """The growing response of a turn; ``below`` has not been printed yet.

    A turn may have several: each ends when its calls are made, and the next one begins.
    """

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._text = ""
        self._printed = 0  # characters of it
        self._ended = False

    @property
    def unprinted_text(self) -> str:
        return self._text[self._printed :]

    def update_text(self, text: str) -> str:
        """Update the whole text so far; return the part to print now."""
        text = text.lstrip()
        if self._ended or not text.startswith(self._text[: self._printed]):
            self._printed, self._ended = 0, False
        self._text = text
        return self._take_printable(self._printed + measure_settled_text(self.unprinted_text))

    def end_response(self) -> str:
        """End the response; return the rest to print."""
        self._ended = True
        return self._take_printable(len(self._text))

    def finish_reply(self, reply: str) -> str:
        """Return the rest of the turn's reply to print."""
        printed = self._text[: self._printed].rstrip()
        if self._ended or not reply.startswith(printed):
            return reply
        return reply[len(printed) :].lstrip("\n")

    def _take_printable(self, end: int) -> str:
        begin, self._printed = self._printed, end
        return self._text[begin:end].strip("\n")
