"""Count the tokens of one answer while it is relayed.

Only events and answers with a ``"usage"`` are parsed, by the code that the worker uses. A string in
the answer cannot contain these bytes, since JSON escapes its quotes.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import orjson
from pydantic import BaseModel, ValidationError

from orchestrator.broker.broker_wire import CountsFormat
from thinker.protocol.loose_json import get_text
from thinker.protocol.messages import Usage
from thinker.protocol.token_counts import (
    AnthropicCounts,
    OpenAICounts,
    estimate_tokens,
    find_openai_counts,
)

USAGE, NULL = b'"usage"', re.compile(rb'"usage"\s*:\s*null')
MAX_ANSWER = 16 * 1024 * 1024  # bytes of an answer in one piece that are looked at
MAX_LINE = 1024 * 1024  # bytes of a line that are looked at
PICTURE = re.compile(rb"[A-Za-z0-9+/=]{4000,}")  # base64
PICTURE_CHARACTERS = b"." * 6000  # the worker's estimate for a picture


class _Message(BaseModel):
    model: str = ""
    usage: AnthropicCounts = AnthropicCounts()


class _Event(_Message):
    """A message, or an event with one."""

    message: _Message = _Message()


class MeteredUsage(NamedTuple):
    """The model that an answer names, and its usage or an estimate."""

    model: str
    usage: Usage
    estimated: bool


class Meter:
    """Counts the tokens of one answer, piece by piece; a ``streamed`` one consists of events."""

    def __init__(self, counts: CountsFormat, *, streamed: bool) -> None:
        self._anthropic = counts == "anthropic"
        self._stated = counts == "stated"
        self._streamed = streamed
        self._line = bytearray()  # a line whose end has not arrived
        self._found: list[bytes] = []
        self._events = 0
        self._size = 0

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        if not self._streamed:
            if self._size <= MAX_ANSWER:
                self._found.append(data)
            return
        if self._stated:  # sound
            return
        end = data.rfind(b"\n") + 1
        if not end:
            self._line += data
            del self._line[MAX_LINE:]
            return
        whole = bytes(self._line) + data[:end]
        self._line[:] = data[end:]
        self._events += whole.count(b"data:")
        if USAGE in whole:
            for line in whole.split(b"\n"):
                self._keep_counts(line)

    def _keep_counts(self, line: bytes) -> None:
        """Keep a line with counts: each of a message's events, the last chunk of a completion."""
        if line.count(USAGE) > len(NULL.findall(line)):
            if not self._anthropic:
                self._found.clear()
            self._found.append(line)

    def build_result(self, sent: bytes, *, cut: bool = False) -> MeteredUsage:
        """Return the answer's usage; ``sent`` is the request, ``cut`` if the answer broke off."""
        if self._streamed:
            self._keep_counts(bytes(self._line))
            texts = [line.strip().removeprefix(b"data:") for line in self._found]
        else:
            texts = [b"".join(self._found)]
        model, usage = (_parse_anthropic if self._anthropic else _parse_openai)(texts)
        if self._stated:
            return MeteredUsage(model, usage, estimated=False)
        # A stream has about one event a token.
        received = self._events if self._streamed else estimate_tokens(self._size)
        if usage.prompt > 0 and usage.completion >= 0:
            if cut:
                completion = max(usage.completion, received)
                usage = usage.model_copy(update={"completion": completion})
            return MeteredUsage(model, usage, estimated=cut)
        prompt = estimate_tokens(len(PICTURE.sub(PICTURE_CHARACTERS, sent)))
        return MeteredUsage(model, Usage(prompt=prompt, completion=received), estimated=True)


def _parse_openai(texts: Sequence[bytes]) -> tuple[str, Usage]:
    model, usage = "", Usage()
    for text in texts:
        with suppress(ValueError):
            found = orjson.loads(text)
            model = get_text(found, "model") or model
            counts = find_openai_counts(found) if isinstance(found, dict) else None
            usage = OpenAICounts.model_validate(counts).to_usage() if counts else usage
    return model, usage


def _parse_anthropic(texts: Sequence[bytes]) -> tuple[str, Usage]:
    model, counts = "", AnthropicCounts()
    for text in texts:
        with suppress(ValidationError):
            found = _Event.model_validate_json(text)
            for part in (found.message, found):
                model = part.model or model
                counts = counts.merge_counts(part.usage)
    return model, counts.to_usage()
