"""A streaming parser of ``<tool_call>`` blocks: ordered events, independent of chunking.

A closing tag inside a string of the block's JSON does not close it. If the JSON turns out to be
broken, the first closing tag does close it, and the text after that tag is parsed again.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from orchestrator.extensions.text_tool_calls.worker.cursor import JsonCursor
from orchestrator.extensions.text_tool_calls.worker.payload import (
    ParserRules,
    Payload,
    PayloadProblem,
    read_payload,
)
from thinker.toolcalls.quoting import Quotation

OPEN = "<tool_call>"
CLOSE = "</tool_call>"
SLICE = 4096  # characters
UNCLOSED = PayloadProblem("unclosed_tag", "unterminated tool_call block", strict=None)
RECOVERED = PayloadProblem(
    "unclosed_tag_recovered", "unterminated tool_call block recovered", strict=None
)


class TextDelta(NamedTuple):
    """Text outside the blocks, for people."""

    text: str


class TextToolCall(NamedTuple):
    """A call. ``arguments`` is JSON text; ``repaired`` tells whether that was repaired."""

    name: str
    arguments: str
    repaired: bool = False


class ToolCallProblem(NamedTuple):
    """A problem in the block that begins at ``offset`` (characters of the whole text).

    ``raw`` is the block as written. If ``fatal``, the block yields no call; then ``call`` is the
    readable part, and ``shown`` the text to show to a client without strict tools.
    """

    problem: PayloadProblem
    raw: str
    offset: int
    fatal: bool = False
    call: TextToolCall | None = None
    shown: str = ""


Event: TypeAlias = TextDelta | TextToolCall | ToolCallProblem


class _Block:
    """An open block: its text so far, and where it could end."""

    def __init__(self) -> None:
        self.cursor = JsonCursor()
        self.pieces: list[str] = []
        self.length = 0
        self.first_close: int | None = None  # position of a closing tag inside a string

    def add(self, piece: str) -> None:
        self.cursor.advance(piece)
        self.pieces.append(piece)
        self.length += len(piece)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class TextCallParser:
    """Parses an answer fed in pieces, in linear time and without raising.

    Blocks begin with ``tag``; anything else is text. With a `Quotation`, a block that is quoted,
    fenced or indented is text, too.
    """

    def __init__(
        self, rules: ParserRules, tag: str = OPEN, quotation: Quotation | None = None
    ) -> None:
        self._rules = rules
        self._tag = tag
        self._quotation = quotation
        self._waiting: deque[str] = deque()
        self._pending = ""  # between feeds, at most the beginning of a tag
        self._block: _Block | None = None
        self._offset = 0  # characters of complete events so far

    def feed(self, chunk: str) -> tuple[Event, ...]:
        """Return the events that this piece completes."""
        self._waiting.extend(_slice_text(chunk))
        return tuple(self._drain_waiting())

    def finish(self) -> tuple[Event, ...]:
        """Return the events of the remaining text; nothing may follow."""
        events: list[Event] = []
        while (block := self._block) is not None:
            quoted = block.cursor.inside or block.cursor.broken
            block.add(self._pending)
            self._pending = ""
            if block.first_close is not None and quoted:
                events += self._cut_block(block, block.first_close)
                events += self._drain_waiting()
            else:
                events += self._end_unclosed_block(block.text)
        if self._pending:
            events.append(TextDelta(self._pending))
            self._pending = ""
        return tuple(events)

    def _drain_waiting(self) -> Iterator[Event]:
        while self._waiting:
            self._pending += self._waiting.popleft()
            yield from self._parse_pending()

    def _parse_pending(self) -> Iterator[Event]:
        """Yield the events that ``_pending`` already determines, and leave the rest in it."""
        found = True
        while found and self._pending:
            if self._block is None:
                text, found = self._take_until(self._tag)
                opens = found and not self._is_quoted_after(text)
                text += self._tag if found and not opens else ""
                if text:
                    self._offset += len(text)
                    yield TextDelta(text)
                if opens:
                    self._block = _Block()
            else:
                text, found = self._take_until(CLOSE)
                self._block.add(text)
                yield from self._end_block(self._block, closed=found)

    def _is_quoted_after(self, text: str) -> bool:
        """Return whether a tag after this text is quoted."""
        if self._quotation is None:
            return False
        self._quotation.advance(text)
        return self._quotation.is_quoted

    def _take_until(self, tag: str) -> tuple[str, bool]:
        """Remove the text up to the tag, and the tag, from ``_pending``; return text and success.

        Without the tag, the beginning of one at the end stays pending.
        """
        text, found, self._pending = self._pending.partition(tag)
        if found:
            return text, True
        end = len(text) - _count_tag_prefix(text, tag)
        self._pending = text[end:]
        return text[:end], False

    def _end_block(self, block: _Block, *, closed: bool) -> Iterator[Event]:
        """Yield the events of the block if its end is certain."""
        cursor = block.cursor
        if cursor.broken and block.first_close is not None:
            if closed:
                block.add(CLOSE)
            yield from self._cut_block(block, block.first_close)
        elif closed and cursor.inside and not cursor.broken:
            if block.first_close is None:
                block.first_close = block.length
            block.add(CLOSE)
        elif closed:
            yield from self._close_block(block.text)

    def _cut_block(self, block: _Block, end: int) -> Iterator[Event]:
        """End the block at a skipped closing tag; parse the rest again."""
        text = block.text
        self._waiting.extendleft(reversed(_slice_text(text[end + len(CLOSE) :] + self._pending)))
        self._pending = ""
        yield from self._close_block(text[:end])

    def _close_block(self, inner: str) -> Iterator[Event]:
        raw = f"{self._tag}{inner}{CLOSE}"
        yield from self._emit_payload(read_payload(inner, self._rules), raw, drop_strict=True)

    def _end_unclosed_block(self, inner: str) -> Iterator[Event]:
        """End a block that the answer left open: a whole payload counts, the rest is text."""
        raw = f"{self._tag}{inner}"
        payload = read_payload(inner[: len(inner) - _count_tag_prefix(inner, CLOSE)], self._rules)
        problem = RECOVERED if payload.runs else UNCLOSED
        yield ToolCallProblem(problem, raw, self._offset)
        yield from self._emit_payload(payload, raw, drop_strict=False)

    def _emit_payload(self, payload: Payload, raw: str, *, drop_strict: bool) -> Iterator[Event]:
        call = TextToolCall(payload.name, payload.arguments, payload.repaired)
        problem = payload.problem
        if problem is not None:
            fatal = not payload.runs
            hidden = not fatal or (drop_strict and problem.strict)
            yield ToolCallProblem(
                problem,
                raw,
                self._offset,
                fatal=fatal,
                call=call if fatal and call.name else None,
                shown="" if hidden else raw,
            )
        if payload.runs:
            yield call
        self._offset += len(raw)
        self._block = None


def _count_tag_prefix(text: str, tag: str) -> int:
    """Return the number of characters at the end that could be the beginning of the tag."""
    sizes = range(len(tag) - 1, 0, -1)
    return next((size for size in sizes if text.endswith(tag[:size])), 0)


def _slice_text(text: str) -> list[str]:
    """Cut text into short pieces, which limits the copying at each tag."""
    return [text[start : start + SLICE] for start in range(0, len(text), SLICE)]
