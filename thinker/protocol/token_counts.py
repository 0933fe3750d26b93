"""Token counts as providers report them, read by the worker and by the broker alike."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from thinker.protocol.loose_json import NOTHING, Loose, get_list, get_object, read_count
from thinker.protocol.messages import Usage

Count = Annotated[int | None, BeforeValidator(read_count)]
Details = Annotated[
    dict[str, Count], BeforeValidator(lambda value: value if isinstance(value, dict) else {})
]


class OpenAICounts(BaseModel):
    """The ``usage`` of a completion, of embeddings, of a recording or of pictures.

    The last two count ``input_tokens`` and ``output_tokens``, or the ``seconds`` of the recording.
    Tokens from a cache have other names at DeepSeek (hit), Moonshot (top level) and in Claude's
    answers behind proxies; all are part of the prompt.
    """

    prompt_tokens: Count = None
    completion_tokens: Count = None
    total_tokens: Count = None
    prompt_tokens_details: Details = {}
    input_tokens_details: Details = {}
    input_tokens: Count = None
    output_tokens: Count = None
    cached_tokens: Count = None  # Moonshot's
    prompt_cache_hit_tokens: Count = None  # DeepSeek's
    seconds: float | None = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None

    def to_usage(self) -> Usage:
        details = self.prompt_tokens_details or self.input_tokens_details
        cached = details.get("cached_tokens") or self.cached_tokens or self.prompt_cache_hit_tokens
        written = details.get("cache_write_tokens") or details.get("cache_creation_input_tokens")
        prompt = self.prompt_tokens or self.input_tokens or 0
        completion = self.completion_tokens or self.output_tokens or 0
        if prompt and self.total_tokens:  # which alone includes the reasoning at xAI and Gemini
            completion = max(completion, self.total_tokens - prompt)
        return Usage(
            prompt=prompt,
            completion=completion,
            cached=min(cached or self.cache_read_input_tokens or 0, prompt),
            cache_written=min(written or self.cache_creation_input_tokens or 0, prompt),
        )


def find_openai_counts(completion: Loose) -> Loose:
    """Return the usage of a completion or chunk from the places where servers put it."""
    choices = get_list(completion, "choices")
    return (
        get_object(completion, "usage")
        or get_object(choices[0] if choices else None, "usage")  # Moonshot
        or get_object(get_object(completion, "x_groq"), "usage")
        or _convert_local_counts(completion)
    )


def _convert_local_counts(completion: Loose) -> Loose:
    """Return the counts that llama.cpp and Ollama give in words of their own."""
    timings = get_object(completion, "timings")
    if timings:
        read, cached, written = (
            read_count(timings.get(name)) or 0 for name in ("prompt_n", "cache_n", "predicted_n")
        )
        details = {"cached_tokens": cached}
        return {
            "prompt_tokens": read + cached,
            "completion_tokens": written,
            "prompt_tokens_details": details,
        }
    if "eval_count" not in completion:
        return NOTHING
    return {
        "prompt_tokens": completion.get("prompt_eval_count"),
        "completion_tokens": completion["eval_count"],
    }


class AnthropicCounts(BaseModel):
    """The ``usage`` of a message or of one of its events; an absent or zero count keeps its value.

    Proxies repeat all counts in each event, and those that they do not know as zero.
    """

    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None

    def merge_counts(self, newer: "AnthropicCounts") -> "AnthropicCounts":
        found = {name: count for name, count in newer if count}
        return self.model_copy(update=found) if found else self

    def to_usage(self) -> Usage:
        read, written = self.cache_read_input_tokens or 0, self.cache_creation_input_tokens or 0
        return Usage(
            prompt=(self.input_tokens or 0) + read + written,
            completion=self.output_tokens or 0,
            cached=read,
            cache_written=written,
        )


def estimate_tokens(characters: int) -> int:
    """Estimate tokens: four characters each, rounded up."""
    return -(-characters // 4)
