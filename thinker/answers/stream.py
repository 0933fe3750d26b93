"""An answer while it comes: what becomes known of which field, whatever the pieces are."""

import re
from collections.abc import Iterator
from typing import Literal

from pydantic import JsonValue

from thinker.answers.reader import AnswerReader, AnswerSyntaxError, JsonEvent

OPENING = re.compile(r"\[OUTPUT\]:?|(?P<start>[{\[])")
TITLE = "[OUTPUT]"


class AnswerStream:
    """Finds the JSON in a stream and says what becomes known of it, in one pass.

        stream = AnswerStream()
        for piece in pieces:
            for event in stream.feed(piece):
                show(event.path, event.delta)
        stream.finish()
        stream.value        # what was read, complete or not

    ``opening`` is the bracket that the contract begins with. What turns out to be prose in
    brackets (``{maybe}``) is passed over, whatever was said of it. Whether the answer fits its
    contract is judged at the end, from the whole text (``thinker.answers.contract``).
    """

    def __init__(self, opening: Literal["{", "["] = "{") -> None:
        self._opening = opening
        self._reader: AnswerReader | None = None
        self._finished = False
        self._before = ""  # the end of the prose, which may be half a title
        self.value: JsonValue = None

    def feed(self, piece: str) -> tuple[JsonEvent, ...]:
        """What became known with this piece."""
        return tuple(self._feed(piece))

    def finish(self) -> tuple[JsonEvent, ...]:
        """What is known when nothing more comes; a cut string counts as far as it came."""
        if self._reader is None or self._finished:
            return ()
        try:
            events = self._reader.close()
        except AnswerSyntaxError:
            return ()
        self._take(self._reader)
        return tuple(events)

    def _feed(self, piece: str) -> Iterator[JsonEvent]:
        rest: str | None = piece
        while rest is not None and not self._finished:
            if self._reader is None:
                rest = self._look(rest)
                continue
            try:
                events, _ = self._reader.feed(rest)
            except AnswerSyntaxError as error:
                yield from self._reader.known()
                self._reader, rest = None, error.rest
                continue
            yield from events
            rest = None
            self._take(self._reader)

    def _look(self, text: str) -> str | None:
        """The text from the bracket that may begin the answer, None when there is none."""
        text = self._before + text
        for match in OPENING.finditer(text):
            if match["start"] != self._opening:
                continue
            if not TITLE.startswith(text[match.start() :]):
                self._reader, self._before = AnswerReader(), ""
                return text[match.start() :]
            self._before = text[match.start() :]
            return None
        self._before = ""
        return None

    def _take(self, reader: AnswerReader) -> None:
        if reader.done:
            self.value, self._finished = reader.value, True
