"""Classify providers' errors, the same way for both wire formats.

Every message reads ``<what happened>: <quote of the provider>``. The first part never contains a
quote and is safe to log (`format_headline`).
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from thinker import worker_errors
from thinker.models.came_with import format_origin
from thinker.models.quirks import find_rules
from thinker.models.refused_parts import RefusedPart, find_refused_part, may_be_history
from thinker.protocol.providers import Provider, RequestRules
from thinker.worker_errors import FatalModelError, ModelError, RetryableModelError

EXCERPT = 200  # characters of a provider's text in a message
LONG = 2000  # and of the words by which a refused part is found
RETRYABLE = frozenset({408, 409, 425, 429})
NO_ACCOUNT = frozenset({401, 402})
# Statuses for tool schemas or calls that a provider does not understand; 500 is Ollama's.
TOOL_TROUBLE = frozenset({400, 422, 500})
OVERFLOW = re.compile(
    r"context_length|context length|context window|context limit|context size|maximum context"
    r"|prompt is too long|input is too long|too many tokens|request_too_large",
    re.IGNORECASE,
)
UNKNOWN_MODEL = re.compile(r"model_not_found|model_decommissioned", re.IGNORECASE)
TEMPERATURE = re.compile(r"\btemperature\b", re.IGNORECASE)  # but not the tool get_temperature
# Fields that some servers do not know, and the words in which they say so.
LENGTHS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
FIELDS = re.compile(
    r"\b(max_tokens|max_completion_tokens|stream_options|prompt_cache_key|parallel_tool_calls"
    r"|tool_choice|reasoning_effort|enable_thinking|thinking_budget|chat_template_kwargs"
    r"|(?<=['\"`])(?:reasoning|thinking)(?=['\"`])|thinking(?=\.)|reasoning(?=\.))\b"
)
UNWANTED = re.compile(
    r"unsupported|(not|n't) (currently )?support|unrecognized|unknown|unexpected|extra"
    r"|not (permitted|allowed)|incompatible|not compatible",
    re.IGNORECASE,
)
# In this order: Ollama, OpenRouter, vLLM, llama.cpp, OpenAI's older models.
TOOLS = re.compile(
    r"(not|n't) support (tools?|functions?)\b|support tool use|tools? (is|are) not supported"
    r"|(tool|function)[ _-]?(use|calls?|calling) (is|are) not supported|enable-auto-tool-choice"
    r"|tools param requires|unrecognized request argument supplied: tools",
    re.IGNORECASE,
)
# In this order: OpenAI and compatible servers, Anthropic, Groq, llama.cpp and vLLM, Ollama.
OUTPUT = re.compile(
    r"response_?\s?format|json_schema|structured[ _-]?outputs?|output_(config|format)"
    r"|json_validate_failed|json mode|grammar|guided|invalid format|required for format",
    re.IGNORECASE,
)
REFUSING = frozenset({400, 404, 422, 500, 501})  # statuses of requests that were not understood
UNREAD = frozenset({400, 422})
NO_CREDIT = re.compile(r"insufficient_quota|billing_error|credit balance", re.IGNORECASE)

# Errors inside a stream follow status 200; their kind gives the status they stand for.
STATUS_OF_KIND = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class FieldRefusedError(FatalModelError):
    """The model rejects a field; the same request without it may succeed."""

    def __init__(self, text: str, field: str) -> None:
        super().__init__(text)
        self.field = field


class ToolsRefusedError(FatalModelError):
    """The model has no native tool calls; tools can be offered as text."""

    over_tools = True


class PartRefusedError(FatalModelError):
    """The model rejects a part of the request; ``words`` are the provider's, up to `LONG`."""

    over_tools = True

    def __init__(self, text: str, words: str = "") -> None:
        super().__init__(text)
        self.words = words


class SchemaRefusedError(PartRefusedError):
    """The model rejects the schema of a tool; a plainer one may be taken."""


class HistoryRefusedError(PartRefusedError):
    """The model rejects earlier messages; the same in another form may be taken."""


class OutputRefusedError(PartRefusedError):
    """The model rejects answer schemas, or this one; the prompt can still describe the schema.

    Servers that compile tools to grammars reject tools in the same words.
    """


@dataclass(frozen=True)
class Account:
    """The provider, model and key of a request; an empty key sends none."""

    provider: Provider
    model: str
    api_key: str = field(default="", repr=False)
    base_url: str = ""  # empty: the provider's own

    @property
    def host(self) -> str:
        return urlsplit(self.base_url or self.provider.base_url).hostname or ""

    @cached_property
    def rules(self) -> RequestRules:
        """How requests to this model differ from those to OpenAI."""
        return find_rules(self.provider, self.host, self.model)

    @cached_property
    def origin(self) -> str:
        """Where fields go back that came with an answer of this model."""
        return format_origin(self.provider.name, self.host, self.model)

    def format_excerpt(self, quote: bytes | str, limit: int = EXCERPT) -> str:
        """Return the start of the provider's text, on one line, without the key."""
        text = quote.decode("utf-8", "replace") if isinstance(quote, bytes) else quote
        if self.api_key:
            text = text.replace(self.api_key, "[key]")
        text = " ".join(text.split())
        return text if len(text) <= limit else text[:limit] + "…"


class ProviderError(NamedTuple):
    """A provider's error: the message, and the kinds (code, type) as strings."""

    message: str
    kinds: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return " ".join((self.message, *self.kinds))

    @property
    def status(self) -> int:
        """The HTTP status of an error inside a stream; 500 if unknown."""
        for kind in self.kinds:
            if re.fullmatch(r"[45]\d\d", kind):
                return int(kind)
            if kind in STATUS_OF_KIND:
                return STATUS_OF_KIND[kind]
        return 400 if OVERFLOW.search(self.words) else 500


def parse_stated_error(data: bytes) -> ProviderError | None:
    """Return the error in the ``error`` field of a response or event, if any."""
    if b'"error"' not in data:
        return None
    try:
        body = orjson.loads(data)
    except ValueError:
        return None
    if isinstance(body, list) and body:  # Gemini's
        body = body[0]
    error = body.get("error") if isinstance(body, dict) else None
    if not error:
        return None
    if not isinstance(error, dict):
        return ProviderError(str(error))
    kinds = (error.get("code"), error.get("type"), error.get("param"))
    return ProviderError(str(error.get("message", "")), tuple(str(kind) for kind in kinds if kind))


def build_failure(
    account: Account, status: int, complaint: ProviderError, retry_after: float | None = None
) -> ModelError:
    """Return the error for an HTTP status of 300 or more; the message says what to do."""
    words = complaint.words
    quote = f": {account.format_excerpt(complaint.message)}" if complaint.message.strip() else ""
    name = account.provider.name
    bad_request = status == HTTPStatus.BAD_REQUEST
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or (bad_request and OVERFLOW.search(words)):
        return worker_errors.ContextOverflowError(
            f"{name} says that the request is longer than {account.model!r} takes{quote}"
        )
    if bad_request and "tool_use_failed" in words:  # Groq cannot parse the model's call
        problem = f"{name} could not read the model's tool call{quote}"
        return _mark_over_tools(RetryableModelError(problem))
    if (refused := _find_refusal(account, status, words, quote)) is not None:
        return refused
    status = _correct_status(status, words)
    if may_be_history(status, words):
        return _build_part_error(account, "history", words, quote)
    if status in RETRYABLE or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        error: ModelError = RetryableModelError(f"{name} answered {status}{quote}", retry_after)
    else:
        kind = worker_errors.AccountError if status in NO_ACCOUNT else FatalModelError
        error = kind(f"{name} {_format_advice(account, status)}{quote}")
    return _mark_over_tools(error) if status in TOOL_TROUBLE else error


def _find_unwanted_field(words: str, *, bad_request: bool) -> str:
    """Return the field that an error is about, or an empty string; a request may omit it."""
    if bad_request and TEMPERATURE.search(words):
        return "temperature"
    found = FIELDS.search(words) if UNWANTED.search(words) else None
    return found[0] if found else ""


def _find_refusal(account: Account, status: int, words: str, quote: str) -> FatalModelError | None:
    """Return the error for a request that another form, or one without a part, may replace."""
    name, model, bad_request = (
        account.provider.name,
        account.model,
        status == HTTPStatus.BAD_REQUEST,
    )
    if (part := find_refused_part(status, words)) is not None:
        return _build_part_error(account, part, words, quote)
    if status in UNREAD and (field := _find_unwanted_field(words, bad_request=bad_request)):
        return FieldRefusedError(f"{name} takes no {field} for {model!r}{quote}", field)
    if status in REFUSING and TOOLS.search(words):
        return ToolsRefusedError(f"{name} takes no tools for {model!r}{quote}")
    if status in REFUSING and OUTPUT.search(words):
        problem = f"{name} does not take the schema of the answer for {model!r}{quote}"
        return OutputRefusedError(problem, account.format_excerpt(words, LONG))
    return None


def _build_part_error(
    account: Account, part: RefusedPart, words: str, quote: str
) -> SchemaRefusedError | HistoryRefusedError:
    refused = "the schema of a tool" if part == "schema" else "the earlier messages"
    kind = SchemaRefusedError if part == "schema" else HistoryRefusedError
    problem = f"{account.provider.name} refused {refused} for {account.model!r}{quote}"
    return kind(problem, account.format_excerpt(words, LONG))


def _mark_over_tools(error: ModelError) -> ModelError:
    error.over_tools = True
    return error


def _correct_status(status: int, words: str) -> int:
    """Return the status that fits the message; some providers send 400 or 429 for everything."""
    if NO_CREDIT.search(words):
        return HTTPStatus.PAYMENT_REQUIRED
    if UNKNOWN_MODEL.search(words):
        return HTTPStatus.NOT_FOUND
    return status


def _format_advice(account: Account, status: int) -> str:
    provider, model = account.provider, account.model
    key = provider.key_var or "a key that it accepts"
    correct = f"correct {key} in keys.env" if provider.key_var else f"set {key}"
    pull = f" or run `ollama pull {model}`" if provider.name == "ollama" else ""
    if status < HTTPStatus.BAD_REQUEST:
        return f"answered {status}, a redirect; set the final address as baseUrl in agents.json"
    return {
        401: f"refused the key; {correct}",
        402: f"has no credit left for this key; top it up or set another {key}",
        403: f"does not allow this key to use {model!r}; choose another model or set {key}",
        404: f'does not know the model {model!r}; set "model" (or baseUrl){pull}',
    }.get(status, f"refused the request ({status})")


def format_headline(error: ModelError) -> str:
    """Return the part of an error's message without quotes of a provider."""
    return str(error).partition(": ")[0]
