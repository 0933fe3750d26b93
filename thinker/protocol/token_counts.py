"""Token counts as providers report them, read by the worker and by the broker alike."""

from pydantic import BaseModel

from thinker.protocol.messages import Usage


class _PromptDetails(BaseModel):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class OpenAICounts(BaseModel):
    """The ``usage`` of a completion, of embeddings, of a recording or of pictures.

    The last two count ``input_tokens`` and ``output_tokens``, or the ``seconds`` of the recording.
    Tokens from a cache have other names at DeepSeek (hit), Moonshot (top level) and in Claude's
    answers behind proxies; all are part of the prompt.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    input_tokens_details: _PromptDetails | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    prompt_cache_hit_tokens: int | None = None
    cached_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def to_usage(self) -> Usage:
        details = self.prompt_tokens_details or self.input_tokens_details or _PromptDetails()
        cached = details.cached_tokens or self.prompt_cache_hit_tokens or self.cached_tokens
        written = details.cache_write_tokens or details.cache_creation_input_tokens
        prompt = self.prompt_tokens or self.input_tokens or 0
        completion = self.completion_tokens or self.output_tokens or 0
        return Usage(
            prompt=prompt,
            completion=completion,
            cached=min(prompt, cached or self.cache_read_input_tokens or 0),
            cache_written=min(prompt, written or self.cache_creation_input_tokens or 0),
        )


class AnthropicCounts(BaseModel):
    """The ``usage`` of a message or of one of its events; an absent count keeps its value."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def merge_counts(self, newer: "AnthropicCounts") -> "AnthropicCounts":
        found = newer.model_fields_set and newer.model_dump(exclude_none=True)
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
