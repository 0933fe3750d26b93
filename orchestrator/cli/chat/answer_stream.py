"""An answer while it grows: which part of it can be printed for good, and which may still change.

What scrolls away on a terminal cannot be changed any more. So a block of Markdown is printed when
the next one has begun, and until then is shown below.
"""

from markdown_it import MarkdownIt

_BLOCKS = MarkdownIt().enable("table")


def settled(markdown: str) -> int:
    """Return the length of the text before its last block, which may still grow."""
    starts = [token.map[0] for token in _BLOCKS.parse(markdown) if token.level == 0 and token.map]
    lines = markdown.split("\n")[: starts[-1]] if starts else []
    return sum(len(line) + 1 for line in lines)


class AnswerStream:
    """The response of a turn that a model is writing. ``below`` has not been printed yet.

    A turn may have several: each ends when its calls are made, and the next one begins.
    """

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._text = ""
        self._printed = 0  # characters of it
        self._ended = False

    @property
    def below(self) -> str:
        return self._text[self._printed :]

    def grow(self, text: str) -> str:
        """Take the whole text so far; return what is to be printed now."""
        text = text.lstrip()
        if self._ended or not text.startswith(self._text[: self._printed]):
            self._printed, self._ended = 0, False
        self._text = text
        return self._print(self._printed + settled(self.below))

    def end(self) -> str:
        """End the response; return what is to be printed of it."""
        self._ended = True
        return self._print(len(self._text))

    def finish(self, reply: str) -> str:
        """Return what is to be printed of the turn's reply."""
        printed = self._text[: self._printed].rstrip()
        if self._ended or not reply.startswith(printed):
            return reply
        return reply[len(printed) :].lstrip("\n")

    def _print(self, end: int) -> str:
        begin, self._printed = self._printed, end
        return self._text[begin:end].strip("\n")
