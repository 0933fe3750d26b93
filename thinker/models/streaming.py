"""Incremental reading of streamed answers: server-sent events and growing text."""


class EventReader:
    r"""Splits a byte stream into the ``data:`` payloads of its events, independent of chunking.

    Only ``\n`` bytes end a line: U+2028 and U+0085 may occur inside a JSON string.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events that this chunk completes."""
        first, *lines = chunk.split(b"\n")
        self._line.append(first)
        events = []
        for line in lines:
            events += self._end_line()
            self._line = [line]
        return events

    def close(self) -> list[bytes]:
        """Return the last event of a stream that ended without a blank line."""
        return [*self._end_line(), *self._end_event()]

    def _end_line(self) -> list[bytes]:
        line = b"".join(self._line).rstrip(b"\r")
        self._line = []
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        return [] if line else self._end_event()

    def _end_event(self) -> list[bytes]:
        event = [b"\n".join(self._data)] if self._data else []
        self._data = []
        return event


class TextBuffer:
    """Text that arrives in pieces; adding a piece costs its own length."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, piece: str | None) -> None:
        """Append a piece; None and empty pieces add nothing."""
        if piece:
            self._pieces.append(piece)

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""
