"""What refusals mean, how much they allow, and how long they ask to wait."""

import pytest

from thinker.models.failures import Account, build_failure, parse_refusal
from thinker.models.refusal_facts import (
    TokenLimit,
    find_excess_of_rate,
    find_kind,
    find_token_limit,
    find_wait,
)
from thinker.protocol.notices import FailureKind
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import ContextOverflowError

NOW = 1_700_000_000.0
GROQ = Account(PROVIDERS["groq"], "m")


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("prompt is too long: 213,925 tokens > 200,000 maximum", (200_000, 213_925)),
        ("maximum context length is 8192 tokens. However, you requested 9000", (8192, 9000)),
        ("Range of input length should be [1, 6000]", (6000, None)),
        ("n_prompt_tokens 9000 n_ctx 2048", (2048, 9000)),
        ("of 12000 tokens only 4000 are read", (4000, 12_000)),
        ("invalid params, context window exceeds limit, code 2013", (None, None)),
        ("too long", (None, None)),
    ],
)
def test_a_refusal_tells_how_much_is_allowed_and_was_counted(
    words: str, limit: tuple[int | None, int | None]
) -> None:
    """By known phrases, or as the smaller and the larger of two numbers."""
    assert find_token_limit(words) == TokenLimit(*limit)


@pytest.mark.parametrize(
    ("words", "headers", "wait"),
    [
        ("Please try again in 1m30s.", {}, 90.0),
        ("try again in 857ms", {}, 0.857),
        ("Please retry in 10h17m5.7s.", {}, 37_025.7),
        ("retry after 20 seconds", {}, 20.0),
        ("retry_after_seconds 9", {}, 9.0),
        ("retryDelay 37s", {}, 37.0),
        ("Please try again later. code 503", {}, None),
        ("try again in 2s", {"retry-after": "9"}, 9.0),
        ("", {"x-ratelimit-reset-tokens": "2m59.5s"}, 179.5),
        ("", {"x-ratelimit-reset-requests": "5s", "x-ratelimit-remaining-requests": "3"}, None),
        ("", {"anthropic-ratelimit-requests-reset": "2023-11-14T22:13:50Z"}, 30.0),
        ("", {"x-ratelimit-reset": "1700000012000"}, 12.0),
        ("GenerateRequestsPerDayPerProject", {}, 3600.0),
        ("no", {}, None),
    ],
)
def test_the_longest_wait_that_is_asked_for_counts(
    words: str, headers: dict[str, str], wait: float | None
) -> None:
    """From text, body and headers; a rate that is not used up asks for none."""
    assert find_wait(words, headers, NOW) == (wait if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (
            400,
            "ThrottlingException Too many tokens, please wait before trying again.",
            "rate_limited",
        ),
        (429, "The engine is currently overloaded", "overloaded"),
        (429, "insufficient_quota You exceeded your current quota", "no_credit"),
        (429, "RESOURCE_EXHAUSTED You exceeded your current quota", "rate_limited"),
        (400, "API key not valid. Please pass a valid API key.", "bad_key"),
        (400, "The model `x` does not exist", "model_gone"),
        (404, "No endpoints found that support tool use", "tools"),
        (400, "content_filter", "filtered"),
        (400, "max_tokens must be at most 8192", "output_limit"),
        (400, "超过最大长度", "too_long"),
        (400, "the answer to everything", ""),
        (200, "prompt is too long", ""),
    ],
)
def test_words_mean_the_same_under_every_status(status: int, words: str, kind: str) -> None:
    """The first rule that fits decides."""
    assert find_kind(status, words) == kind


def test_one_request_above_the_rate_of_a_minute_is_too_long_and_not_too_early() -> None:
    """Waiting helps only while the request is below the limit."""
    words = "Request too large on tokens per minute (TPM): Limit 6,000, Requested {}, please reduce"
    assert find_excess_of_rate(words.format(8012)) == TokenLimit(6000, 8012)
    assert find_excess_of_rate(words.format(500)) is None
    body = b'{"error":{"message":"%b"}}' % words.format(8012).encode()
    error = build_failure(GROQ, 413, parse_refusal(body))
    assert isinstance(error, ContextOverflowError)
    assert error.of_rate


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":{"message":"no"}}', "no"),
        (b'[{"error":{"message":"no","status":"X"}}]', "no"),
        (b'{"error":"no"}', "no"),
        (b'{"object":"error","message":"no"}', "no"),
        (b'{"detail":[{"msg":"no","input":{"messages":[]}}]}', "no"),
        (b'{"detail":"no"}', "no"),
        (b'{"message":"no"}', "no"),
        (b'{"base_resp":{"status_code":1,"status_msg":"no"}}', "no"),
        (b"<html><head><title>no</title></head></html>", "no"),
        (b"no", "no"),
        (b"", ""),
        (b"null", ""),
        (b"[]", ""),
    ],
)
def test_the_message_is_found_in_every_shape_of_body(body: bytes, message: str) -> None:
    """Also in pages of gateways, and in nothing."""
    assert parse_refusal(body).message.strip() == message


def test_what_repeats_the_request_says_nothing_about_the_refusal() -> None:
    """A server that quotes the message must not be misled by it."""
    body = b'{"detail":[{"msg":"bad","input":"rate limit, prompt is too long"}]}'
    assert not find_kind(400, parse_refusal(body).all_words)


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (429, "slow down", FailureKind.RATE_LIMITED),
        (503, "busy", FailureKind.OVERLOADED),
        (504, "", FailureKind.TIMEOUT),
        (402, "", FailureKind.NO_CREDIT),
        (401, "", FailureKind.BAD_KEY),
        (404, "", FailureKind.MODEL_GONE),
        (400, "no", FailureKind.REFUSED),
        (400, "flagged by moderation", FailureKind.FILTERED),
    ],
)
def test_people_read_why_there_is_no_answer(status: int, words: str, kind: FailureKind) -> None:
    """Each kind of failure has a notice of its own."""
    error = build_failure(GROQ, status, parse_refusal(words.encode()))
    assert error.kind is kind
    assert error.format_notice()
