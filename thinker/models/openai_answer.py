"""Parse answers in OpenAI's chat format, whole or streamed, allowing for servers' deviations.

Read as well: Ollama's own format, which has one message at the top, and `function_call`, which
came before `tool_calls`.
"""

from dataclasses import dataclass, field

from thinker.models.base import ModelResponse
from thinker.models.call_arguments import OpenCall, encode_arguments, is_whole_object
from thinker.models.came_with import OWN_FORM, CameWith
from thinker.models.collector import Collector, parse_objects
from thinker.models.streaming import END, TextBuffer
from thinker.protocol.loose_json import (
    Loose,
    get_list,
    get_object,
    get_text,
    read_count,
)
from thinker.protocol.token_counts import OpenAICounts, find_openai_counts

REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
KNOWN = frozenset(("choices", "usage", "timings"))
COUNTS = (b'_tokens"', b'eval_count"', b'predicted_n"')


@dataclass
class OpenAIAnswer(Collector):
    """Collects one chat completion."""

    _refusal: TextBuffer = field(default_factory=TextBuffer)
    _counts: Loose = field(default_factory=dict)

    def feed(self, data: bytes) -> bool:
        if data == END:
            self.finished = True
            return True
        for found in parse_objects(data):
            # Cloudflare wraps what others send.
            completion = found if "choices" in found else get_object(found, "result") or found
            if COUNTS[0] in data or COUNTS[1] in data or COUNTS[2] in data:
                self._counts = find_openai_counts(completion) or self._counts
            self._apply_completion(completion)
        return False

    def _apply_completion(self, completion: Loose) -> None:
        if not self._id:
            self._id = get_text(completion, "id")
            self.model = get_text(completion, "model") or self.model
        choices = completion.get("choices")
        if choices:
            choice = choices[0] if isinstance(choices, list) else None
            if isinstance(choice, dict):
                self._apply_choice(choice, get_text(completion, "object"))
        elif isinstance(completion.get("message"), dict):  # Ollama
            self._apply_part(completion["message"], new=True)
            if completion.get("done") is True:
                self._end_answer(get_text(completion, "done_reason"))
        elif KNOWN.isdisjoint(completion):
            self.skipped += 1

    def _apply_choice(self, choice: Loose, kind: str) -> None:
        delta = message = get_object(choice, "delta")
        if not delta:
            message = get_object(choice, "message")
            self._apply_message(message)
        else:
            self._apply_part(delta)
        reason = get_text(choice, "finish_reason")
        if reason == "null":  # so written by some servers
            return
        if reason or (message and not delta and kind != "chat.completion.chunk"):
            self._end_answer(reason)

    def _apply_message(self, message: Loose) -> None:
        """Add a whole message; in a stream it may repeat what the chunks before it said."""
        said, thought = self._content.text, self._reasoning.text
        if get_list(message, "tool_calls"):
            self._calls = []
        self._apply_part(message, new=True)
        for buffer, before in ((self._content, said), (self._reasoning, thought)):
            if before and buffer.text.startswith(before * 2):
                buffer.replace(buffer.text.removeprefix(before))

    def _apply_part(self, part: Loose, *, new: bool = False) -> None:
        """Add a message, or the part of one that a chunk adds."""
        content = part.get("content")
        if isinstance(content, str):
            self._content.add(content)
            if len(part) == 1:  # nearly every chunk
                return
        else:
            for one in content if isinstance(content, list) else [content]:
                self._apply_content_part(one)
        self._apply_reasoning(part)
        if part.keys() - OWN_FORM:
            self._came.add_fields(part)
        self._refusal.add(get_text(part, "refusal"))
        for call in get_list(part, "tool_calls"):
            if isinstance(call, dict):
                self._apply_call_part(call, new=new)
        if get_object(part, "function_call"):
            self._apply_call_part({"index": 0, "function": part["function_call"]}, new=new)

    def _apply_content_part(self, part: object) -> None:
        """Add a part of a content list: text, or Mistral's thinking, which is a list of texts."""
        if isinstance(part, str):
            self._content.add(part)
        elif isinstance(part, dict):
            thinking = part.get("thinking")
            pieces = thinking if isinstance(thinking, list) else [thinking]
            self._reasoning.add("".join(map(_read_piece, pieces)))
            self._content.add(get_text(part, "text"))

    def _apply_reasoning(self, part: Loose) -> None:
        """Add the first reasoning of a part; some servers send it under two names."""
        for name in REASONING:
            if part.get(name) and isinstance(part[name], str):
                self._reasoning.add(part[name])
                return
        if "reasoning_details" in part:
            pieces = map(_read_piece, get_list(part, "reasoning_details"))
            self._reasoning.add("".join(pieces))

    def _apply_call_part(self, part: Loose, *, new: bool) -> None:
        function = get_object(part, "function") or part
        call_id, name = get_text(part, "id"), get_text(function, "name")
        index = read_count(part.get("index"))
        call = None if new else self._find_continued_call(index, call_id, name)
        if call is None:
            call = OpenCall(len(self._calls) if index is None else index)
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments.add(encode_arguments(function.get("arguments")))
        if part.keys() - OWN_FORM:
            call.came = call.came or CameWith()
            call.came.add_fields(part)

    def _find_continued_call(self, index: int | None, call_id: str, name: str) -> OpenCall | None:
        """Return the call that a streamed part continues; None if it starts one.

        A call is known by its index and id: some servers send no index, some send index 0 for every
        call, and some repeat an id.
        """
        same = [call for call in self._calls if index is None or call.index == index]
        known = [call for call in same if call_id and call.id == call_id]
        if known:
            return known[-1]
        if not name:
            same = same or self._calls
            return same[-1] if same else None
        return None if not same or _is_another_call(call_id, name, same[-1]) else same[-1]

    def build_response(self, request_id: str, call_id: str = "") -> ModelResponse:
        self._calls = [call for call in self._calls if call.name]
        if self._counts:
            self._usage = OpenAICounts.model_validate(self._counts).to_usage()
        if self._refusal.text and self._finish == "done":
            self._finish = "refused"
        if not self.text:
            self._content = self._refusal
        return super().build_response(request_id, call_id)


def _is_another_call(call_id: str, name: str, call: OpenCall) -> bool:
    """Return whether a part with a name and an unknown id cannot continue ``call``."""
    if call_id and call.id:
        return True
    if not call.name:
        return False
    arguments = call.arguments.text
    return name != call.name or (len(arguments) > len("{}") and is_whole_object(arguments))


def _read_piece(piece: object) -> str:
    if isinstance(piece, str):
        return piece
    return get_text(piece, "text") or get_text(piece, "summary")
