"""Collect one answer of a provider, in one piece or streamed."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import orjson

from thinker.models.base import ModelResponse
from thinker.models.call_arguments import OpenCall, build_finished_calls
from thinker.models.came_with import CameWith, build_extras, describe_long_extras
from thinker.models.streaming import TextBuffer
from thinker.protocol.degradations import Degradation
from thinker.protocol.loose_json import Loose
from thinker.protocol.messages import AssistantMessage, Extras, JsonObject, Usage
from thinker.protocol.methods import Finish

MAX_TEXT = 400_000  # characters of an answer: a hundred messages of a chat

# Why answers end, in the words of providers and in lower case; any other word is a normal end.
# Those under "failed" are the provider's fault, or a call that it could not read: ask again.
FINISH: Mapping[str, Finish | Literal["failed"]] = {
    word: meaning
    for meaning, words in orjson.loads(
        Path(__file__).with_name("finish_words.json").read_bytes()
    ).items()
    for word in words
}


class AnswerFailedError(ValueError):
    """The provider ended an answer by saying that it failed; the text is the provider's word."""


@dataclass
class Collector(ABC):
    """Builds one answer of ``provider/model`` from a whole response or from stream events.

    ``finished`` says whether the answer is complete, so that a broken stream loses nothing.
    ``skipped`` counts the parts of unknown types.
    """

    provider: str
    model: str
    finished: bool = False
    skipped: int = 0
    _content: TextBuffer = field(default_factory=TextBuffer)
    _reasoning: TextBuffer = field(default_factory=TextBuffer)
    _calls: list[OpenCall] = field(default_factory=list)
    _finish: Finish = "done"
    _usage: Usage = field(default_factory=Usage)
    _id: str = ""
    origin: str = ""  # where fields go back that came with the answer
    _came: CameWith = field(default_factory=CameWith)

    def end_repetition(self, start: int) -> None:
        """End an answer that only repeats itself, with the text before ``start``."""
        kept, self._content = self.text[:start], TextBuffer()
        self._content.add(kept.rstrip())
        self._finish, self.finished = "repeated", True

    @property
    def text(self) -> str:
        """The answer's text so far, up to `MAX_TEXT`."""
        return self._content.text[:MAX_TEXT]

    @property
    def has_calls(self) -> bool:
        """Whether a tool call has begun."""
        return bool(self._calls)

    @abstractmethod
    def feed(self, data: bytes) -> bool:
        """Add a whole response or one event; return whether the event was the last.

        Raises:
            AnswerFailedError: the provider says that it failed.
            ValueError: the data does not have the provider's format.
        """

    def _list_fields(self) -> JsonObject:
        """Return the fields that came with the answer and go back with it."""
        return self._came.build_fields()

    def build_response(self, request_id: str, call_id: str = "") -> ModelResponse:
        """Return the answer so far; the ids come from the headers of provider and broker."""
        calls = build_finished_calls(self._calls, whole=self._finish in ("done", "refused"))
        reasoning = self._reasoning.text[:MAX_TEXT] or None
        cut = self._finish == "done" and len(self._content.text) > MAX_TEXT
        more = [call.extras for call in calls]
        extras: Extras | None = None
        lost: tuple[Degradation, ...] = ()
        try:
            extras = build_extras(self.origin, self._list_fields(), reasoning, more)
        except ValueError as error:
            calls = tuple(call.model_copy(update={"extras": {}}) for call in calls)
            lost = (describe_long_extras(str(error)),)
        message = AssistantMessage(
            content=self.text, tool_calls=calls, reasoning=reasoning, extras=extras
        )
        return ModelResponse(
            message=message,
            degraded=lost,
            usage=self._usage,
            finish="length" if cut else self._finish,
            model=f"{self.provider}/{self.model}",
            request_id=request_id or self._id,
            call_ids=(call_id,) if call_id else (),
        )

    def _end_answer(self, reason: str) -> None:
        """Finish the answer for the provider's reason.

        Raises:
            AnswerFailedError: the reason is a failure.
        """
        for word in reason.lower().split(": "):  # Gemini: "content_filter: SAFETY"
            meaning = FINISH.get(word, self._finish)
            if meaning == "failed":
                raise AnswerFailedError(reason)
            self._finish = meaning
        self.finished = True


def parse_objects(data: bytes) -> list[Loose]:
    """Return the JSON object of an event, or the objects of a list.

    Raises:
        ValueError: the data is neither.
    """
    value = orjson.loads(data)
    if isinstance(value, dict):
        return [value]
    if not value or not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError("not a JSON object")
    return value
