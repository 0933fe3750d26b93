"""Incremental reading of streamed answers: server-sent events and growing text."""

import codecs

import orjson

BOM = codecs.BOM_UTF8
END = b"[DONE]"
FIELDS = (b"event", b"id", b"retry", b":")  # beginnings of lines without an answer's data


class EventReader:
    r"""Splits a byte stream into the ``data:`` payloads of its events, independent of chunking.

    As the standard requires, ``\r`` ends a line as well, and a byte order mark at the start is
    skipped. Besides, a line of JSON is an event of its own; other text before the first event, such
    as JSON on several lines or a web page, is one event.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._loose: list[bytes] = []  # lines that are neither events nor fields
        self._head: bytes | None = b""  # the first bytes, until it is known what they are
        self._after_cr = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events that this chunk completes."""
        if self._head is not None:
            chunk = self._head = self._head + chunk
            if BOM.startswith(chunk):  # it may be half a mark
                return []
            chunk, self._head = chunk.removeprefix(BOM), None
        if self._after_cr or b"\r" in chunk:
            chunk = self._unify_line_ends(chunk)
        if self._is_one_event(chunk):
            self._begun = True
            return [chunk[6:-2]]
        first, *lines = chunk.split(b"\n")
        self._line.append(first)
        events: list[bytes] = []
        for line in lines:
            events += self._end_line()
            self._line = [line] if line else []
        return events

    def _is_one_event(self, chunk: bytes) -> bool:
        """Return whether a piece is one event, as most are."""
        if self._line or self._data or not chunk.startswith(b"data: {"):
            return False
        return chunk.endswith(b"\n\n") and chunk.find(b"\n") == len(chunk) - 2

    def close(self) -> list[bytes]:
        """Return what remains of a stream that ended without a blank line."""
        events = [*self._end_line(), *self._end_event()]
        loose = b"\n".join(self._loose).strip()
        return [*events, loose] if loose else events

    def _unify_line_ends(self, chunk: bytes) -> bytes:
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r") if chunk else False
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _end_line(self) -> list[bytes]:
        line = b"".join(self._line)
        self._line = []
        if line.startswith(b"data:"):
            return self._add_data(line[5:].removeprefix(b" "))
        if line.startswith(b"error:"):  # a field of llama.cpp's until the end of 2025
            return [*self._end_event(), b'{"error":' + line[6:] + b"}"]
        if not line:
            return self._end_event()
        return [] if line.startswith(FIELDS) else self._add_loose(line)

    def _add_data(self, data: bytes) -> list[bytes]:
        self._begun = True
        if data.strip() == END:  # which some servers end with no blank line
            return [*self._end_event(), END]
        ended: list[bytes] = []
        if self._data and data.startswith(b"{") and self._data[-1].rstrip().endswith(b"}"):
            ended = self._end_event()  # inside one JSON value a comma would separate the two
        self._data.append(data)
        return ended

    def _add_loose(self, line: bytes) -> list[bytes]:
        if not self._loose and line.lstrip().startswith((b"{", b"[")) and _is_json(line):
            self._begun = True
            return [line]
        if not self._begun:
            self._loose.append(line)
        return []

    def _end_event(self) -> list[bytes]:
        event = [b"\n".join(self._data)] if self._data else []
        self._data = []
        return event


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True


class TextBuffer:
    """Text that arrives in pieces; adding a piece costs its own length."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, piece: str | None) -> None:
        """Append a piece; None and empty pieces add nothing."""
        if piece:
            self._pieces.append(piece)

    def replace(self, text: str) -> None:
        self._pieces = [text]

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""
