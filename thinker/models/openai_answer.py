"""Parse answers in OpenAI's chat format, whole or streamed, allowing for servers' deviations."""

from dataclasses import dataclass, field
from typing import Annotated

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue

from thinker.models.base import ModelResponse
from thinker.models.call_arguments import OpenCall, finished_calls
from thinker.models.streaming import TextBuffer
from thinker.protocol.messages import AssistantMessage, Usage


def _text(value: JsonValue) -> JsonValue:
    """Join a content that arrived as a list of parts."""
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return value


def _text_or_none(value: JsonValue) -> JsonValue:
    return value if isinstance(value, str) else None


def _json_text(value: JsonValue) -> JsonValue:
    """Encode arguments that arrived as an object instead of JSON text."""
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


class _Lenient(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Function(_Lenient):
    name: str | None = None
    arguments: Annotated[str | None, BeforeValidator(_json_text)] = None


class _Call(_Lenient):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Part(_Lenient):
    """A message, or the part of one that a chunk adds."""

    content: Annotated[str | None, BeforeValidator(_text)] = None
    reasoning_content: Annotated[str | None, BeforeValidator(_text_or_none)] = None
    reasoning: Annotated[str | None, BeforeValidator(_text_or_none)] = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(_Lenient):
    delta: _Part | None = None
    message: _Part | None = None
    finish_reason: str | None = None


class _PromptDetails(_Lenient):
    cached_tokens: int | None = None


class _Usage(_Lenient):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _Completion(_Lenient):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None


@dataclass
class OpenAIAnswer:
    """Collects one answer of ``provider/model``."""

    provider: str
    model: str
    finished: bool = False
    _text_so_far: TextBuffer = field(default_factory=TextBuffer)
    _reasoning: TextBuffer = field(default_factory=TextBuffer)
    _refusal: TextBuffer = field(default_factory=TextBuffer)
    _finish: str = ""
    _id: str = ""
    _usage: Usage = field(default_factory=Usage)
    _calls: list[OpenCall] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self._text_so_far.text

    def feed(self, data: bytes) -> bool:
        """Add a whole response or one chunk; return true at the mark ``[DONE]``.

        Raises:
            ValueError: the data is not a chat completion.
        """
        if data.strip() == b"[DONE]":
            self.finished = True
            return True
        completion = _Completion.model_validate_json(data)
        self._id = completion.id or self._id
        self.model = completion.model or self.model
        if completion.usage is not None:
            self._usage = _usage(completion.usage)
        for choice in (completion.choices or ())[:1]:
            self._choice(choice)
        return False

    def _choice(self, choice: _Choice) -> None:
        part = choice.delta or choice.message
        if part is not None:
            self._text_so_far.add(part.content)
            self._reasoning.add(part.reasoning_content or part.reasoning)
            self._refusal.add(part.refusal)
            for call in part.tool_calls or ():
                self._call(call, new=part is choice.message)
        if choice.finish_reason == "error":
            raise ValueError("the provider ended the answer with an error")
        if choice.finish_reason or choice.message is not None:
            self._finish = choice.finish_reason or ""
            self.finished = True

    def _call(self, part: _Call, *, new: bool) -> None:
        function = part.function or _Function()
        call = None if new else self._continued(part, function)
        if call is None:
            call = OpenCall(len(self._calls) if part.index is None else part.index)
            self._calls.append(call)
        call.id = call.id or part.id or ""
        call.name = call.name or function.name or ""
        call.arguments.add(function.arguments)

    def _continued(self, part: _Call, function: _Function) -> OpenCall | None:
        """Return the call that a streamed part continues; None if it starts one.

        Some servers send no index and some send index 0 for every call; a new id together with a
        name then starts a new call.
        """
        same = [call for call in self._calls if _belongs(part, call)]
        if not same and not function.name:
            same = self._calls
        if not same or (function.name and _is_another(part, same[-1])):
            return None
        return same[-1]

    def response(self, request_id: str) -> ModelResponse:
        """Return the answer so far, its calls in the provider's order."""
        calls = [call for call in self._calls if call.name]
        cut = self._finish == "length"
        refused = self._finish == "content_filter" or bool(self._refusal.text)
        return ModelResponse(
            message=AssistantMessage(
                content=self.text or self._refusal.text,
                tool_calls=finished_calls(calls, whole=not cut),
                reasoning=self._reasoning.text or None,
            ),
            usage=self._usage,
            finish="length" if cut else "refused" if refused else "done",
            model=f"{self.provider}/{self.model}",
            request_id=request_id or self._id,
        )


def _belongs(part: _Call, call: OpenCall) -> bool:
    if part.index is not None:
        return call.index == part.index
    return not part.id or call.id == part.id


def _is_another(part: _Call, call: OpenCall) -> bool:
    """Return whether a part with a name cannot continue ``call``."""
    if part.id:
        return bool(call.id) and part.id != call.id
    return part.index is None and bool(call.name)


def _usage(usage: _Usage) -> Usage:
    details = usage.prompt_tokens_details or _PromptDetails()
    return Usage(
        prompt=usage.prompt_tokens or 0,
        completion=usage.completion_tokens or 0,
        cached=details.cached_tokens or 0,
    )
