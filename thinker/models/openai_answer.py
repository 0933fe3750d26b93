"""Parse answers in OpenAI's chat format, whole or streamed, allowing for servers' deviations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue

from thinker.models.base import ModelResponse
from thinker.models.call_arguments import OpenCall
from thinker.models.came_with import OWN_FORM, CameWith
from thinker.models.collector import Collector
from thinker.models.streaming import TextBuffer
from thinker.protocol.methods import Finish
from thinker.protocol.token_counts import OpenAICounts

FINISH: Mapping[str, Finish] = {"length": "length", "content_filter": "refused"}


def _join_text_parts(value: JsonValue) -> JsonValue:
    """Join content that arrived as a list of parts."""
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return value


def _keep_text(value: JsonValue) -> JsonValue:
    return value if isinstance(value, str) else None


def _encode_arguments(value: JsonValue) -> JsonValue:
    """Encode arguments that arrived as an object instead of JSON text."""
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


class _LenientModel(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Function(_LenientModel):
    name: str | None = None
    arguments: Annotated[str | None, BeforeValidator(_encode_arguments)] = None


class _Call(_LenientModel):
    model_config = ConfigDict(extra="allow")

    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Part(_LenientModel):
    """A message, or the part of one that a chunk adds, with all its fields."""

    model_config = ConfigDict(extra="allow")

    content: Annotated[str | None, BeforeValidator(_join_text_parts)] = None
    reasoning_content: Annotated[str | None, BeforeValidator(_keep_text)] = None
    reasoning: Annotated[str | None, BeforeValidator(_keep_text)] = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(_LenientModel):
    delta: _Part | None = None
    message: _Part | None = None
    finish_reason: str | None = None


class _Completion(_LenientModel):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: OpenAICounts | None = None


@dataclass
class OpenAIAnswer(Collector):
    """Collects one chat completion."""

    _refusal: TextBuffer = field(default_factory=TextBuffer)

    def feed(self, data: bytes) -> bool:
        if data.strip() == b"[DONE]":
            self.finished = True
            return True
        completion = _Completion.model_validate_json(data)
        self._id = completion.id or self._id
        self.model = completion.model or self.model
        if completion.usage is not None:
            self._usage = completion.usage.to_usage()
        for choice in (completion.choices or ())[:1]:
            self._apply_choice(choice)
        return False

    def _apply_choice(self, choice: _Choice) -> None:
        part = choice.delta or choice.message
        if part is not None:
            self._content.add(part.content)
            if part.reasoning_content or part.reasoning or part.model_extra:
                self._keep_extras(part)
            self._refusal.add(part.refusal)
            for call in part.tool_calls or ():
                self._apply_call_part(call, new=part is choice.message)
        if choice.finish_reason == "error":
            raise ValueError("the provider ended the answer with an error")
        if choice.finish_reason or choice.message is not None:
            self._finish = FINISH.get(choice.finish_reason or "", "done")
            self.finished = True

    def _keep_extras(self, part: _Part) -> None:
        """Keep the reasoning under its name, and fields that we do not know."""
        self._reasoning.add(part.reasoning_content or part.reasoning)
        for name in ("reasoning_content", "reasoning"):
            if text := getattr(part, name):
                self._came.add_text(name, text)
        self._came.add_fields(part.model_extra or {})

    def _apply_call_part(self, part: _Call, *, new: bool) -> None:
        function = part.function or _Function()
        call = None if new else self._find_continued_call(part, function)
        if call is None:
            call = OpenCall(len(self._calls) if part.index is None else part.index)
            self._calls.append(call)
        call.id = call.id or part.id or ""
        call.name = call.name or function.name or ""
        call.arguments.add(function.arguments)
        if part.model_extra and part.model_extra.keys() - OWN_FORM:
            call.came = call.came or CameWith()
            call.came.add_fields(part.model_extra)

    def _find_continued_call(self, part: _Call, function: _Function) -> OpenCall | None:
        """Return the call that a streamed part continues; None if it starts one.

        Some servers send no index and some send index 0 for every call; a new id together with a
        name then starts a new call.
        """
        same = [call for call in self._calls if _is_same_call(part, call)]
        if not same and not function.name:
            same = self._calls
        if not same or (function.name and _is_another_call(part, same[-1])):
            return None
        return same[-1]

    def build_response(self, request_id: str, call_id: str = "") -> ModelResponse:
        self._calls = [call for call in self._calls if call.name]
        if self._refusal.text and self._finish == "done":
            self._finish = "refused"
        if not self.text:
            self._content = self._refusal
        return super().build_response(request_id, call_id)


def _is_same_call(part: _Call, call: OpenCall) -> bool:
    if part.index is not None:
        return call.index == part.index
    return not part.id or call.id == part.id


def _is_another_call(part: _Call, call: OpenCall) -> bool:
    """Return whether a part with a name cannot continue ``call``."""
    if part.id:
        return bool(call.id) and part.id != call.id
    return part.index is None and bool(call.name)
