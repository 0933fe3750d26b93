"""Classification of providers' errors, and messages that say what to do."""

import pytest

from thinker.models.failures import (
    Account,
    FieldRefusedError,
    ProviderError,
    ToolsRefusedError,
    build_failure,
    format_headline,
    parse_stated_error,
)
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import (
    AccountError,
    ContextOverflowError,
    FatalModelError,
    ModelError,
    RetryableModelError,
)

OPENAI = Account(PROVIDERS["openai"], "m", "sk-secret")


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_passing_failures_may_be_asked_again(status: int) -> None:
    """Rate limits, conflicts and server errors keep the requested wait."""
    error = build_failure(OPENAI, status, ProviderError("slow down"), {"retry-after": "7"})
    assert type(error) is RetryableModelError
    assert error.retry_after == 7.0
    assert str(error) == f"openai answered {status}: slow down"


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (302, "set the final address as baseUrl"),
        (400, "refused the request (400)"),
        (401, "correct OPENAI_API_KEY in keys.env"),
        (402, "no credit"),
        (403, "choose another model"),
        (404, "does not know the model 'm'; set \"model\""),
        (418, "refused the request (418)"),
    ],
)
def test_lasting_failures_say_what_to_do(status: int, advice: str) -> None:
    """The message names the variable or the field to change."""
    error = build_failure(OPENAI, status, ProviderError("no"))
    assert type(error) is (AccountError if status in {401, 402} else FatalModelError)
    assert advice in str(error)


@pytest.mark.parametrize(
    ("status", "message", "kind", "expected"),
    [
        (400, "too long", "context_length_exceeded", ContextOverflowError),
        (400, "This model's maximum context length is 8192", "", ContextOverflowError),
        (400, "prompt is too long: 210000 tokens", "invalid_request_error", ContextOverflowError),
        (413, "Request too large", "request_too_large", ContextOverflowError),
        (400, "Failed to call a function", "tool_use_failed", RetryableModelError),
        (400, "get_temperature failed", "tool_use_failed", RetryableModelError),
        (400, "'temperature' is not supported", "", FieldRefusedError),
        (400, "tools.0.get_temperature: bad schema", "", FatalModelError),
        (429, "You exceeded your current quota", "insufficient_quota", AccountError),
        (400, "Your credit balance is too low", "invalid_request_error", AccountError),
        (400, "gone", "model_decommissioned", FatalModelError),
    ],
)
def test_the_words_decide_where_the_status_does_not(
    status: int, message: str, kind: str, expected: type[ModelError]
) -> None:
    """A full context, a bad tool call and an empty account may share a status."""
    assert type(build_failure(OPENAI, status, ProviderError(message, (kind,)))) is expected


def test_ollama_without_the_model_names_the_command() -> None:
    """The message has the remedy for the usual first mistake with a local server."""
    error = build_failure(Account(PROVIDERS["ollama"], "qwen3"), 404, ProviderError("not found"))
    assert "`ollama pull qwen3`" in str(error)


def test_messages_hold_an_excerpt_without_the_key() -> None:
    """The quote is short, on one line, and the key is hidden."""
    error = build_failure(OPENAI, 401, ProviderError("key\n sk-secret is bad " + "x" * 1000))
    assert "sk-secret" not in str(error)
    assert "key [key] is bad" in str(error)
    assert len(str(error)) < 300
    assert "sk-secret" not in repr(OPENAI)
    assert format_headline(error) == "openai refused the key; correct OPENAI_API_KEY in keys.env"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b'{"error":{"message":"m","type":"overloaded_error"}}', 529),
        (b'{"error":{"message":"m","code":502}}', 502),
        (b'{"error":{"message":"m","type":"authentication_error"}}', 401),
        (b'{"error":{"message":"prompt is too long"}}', 400),
        (b'{"error":{"message":"m","type":"made_up"}}', 500),
        (b'{"error":"just text"}', 500),
    ],
)
def test_an_error_inside_a_stream_has_the_status_it_would_have_had(
    data: bytes, status: int
) -> None:
    """After status 200 the kind of the error determines it."""
    complaint = parse_stated_error(data)
    assert complaint is not None
    assert complaint.status == status


@pytest.mark.parametrize(
    "data",
    [b"{}", b'{"error":null}', b'{"text":"\\"error\\""}', b'["error"]', b'{"error":', b"error"],
)
def test_no_error_is_seen_where_none_is_stated(data: bytes) -> None:
    """Only a filled top-level field counts."""
    assert parse_stated_error(data) is None


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (404, "No endpoints found that support tool use."),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (500, "tools param requires --jinja flag"),
        (400, "Unrecognized request argument supplied: tools"),
        (422, "Tool calling is not supported by this model"),
    ],
)
def test_model_that_takes_no_tools_is_known(status: int, message: str) -> None:
    """By the words of Ollama, OpenRouter, vLLM, llama.cpp, OpenAI and others."""
    error = build_failure(OPENAI, status, ProviderError(message))
    assert type(error) is ToolsRefusedError
    assert error.over_tools


@pytest.mark.parametrize(
    "message", ["tool 'add' has a bad schema", "temperature 3 is not supported", "no"]
)
def test_other_complaints_are_not_taken_for_it(message: str) -> None:
    """An invalid tool does not mean a model without tools."""
    assert type(build_failure(OPENAI, 400, ProviderError(message))) is not ToolsRefusedError
