"""Classify providers' errors, the same way for both wire formats.

Every message reads ``<what happened>: <quote of the provider>``. The first part never contains a
quote and is safe to log (`format_headline`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from thinker import worker_errors
from thinker.http.exchange import NO_HEADERS
from thinker.models import refusal_facts
from thinker.models.came_with import format_origin
from thinker.models.quirks import find_rules
from thinker.models.refused_parts import RefusedPart, find_refused_part, may_be_history
from thinker.protocol.notices import FailureKind
from thinker.protocol.providers import Provider, RequestRules
from thinker.worker_errors import FatalModelError, ModelError, RetryableModelError

EXCERPT = 200  # characters of a provider's text in a message
LONG = 2000  # and of the words by which a refused part is found
BAD_REQUEST = HTTPStatus.BAD_REQUEST
RETRYABLE = frozenset({408, 409, 425, 429, 498})
NO_ACCOUNT = frozenset({401, 402})
# Statuses for tool schemas or calls that a provider does not understand; 500 is Ollama's.
TOOL_TROUBLE = frozenset({400, 422, 500})
# Statuses with which servers refuse what they cannot take, whatever their words.
UNCLEAR = frozenset({400, 413, 422, 500})
LOADING_SECONDS = 5.0  # between two requests to a server that loads its model
HTML = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
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
UNREAD = frozenset({400, 422})
KINDS = {  # of `refusal_facts.json` and, where the words say nothing, of a status
    "no_credit": FailureKind.NO_CREDIT,
    "bad_key": FailureKind.BAD_KEY,
    "model_gone": FailureKind.MODEL_GONE,
    "overloaded": FailureKind.OVERLOADED,
    "loading": FailureKind.OVERLOADED,
    "rate_limited": FailureKind.RATE_LIMITED,
    401: FailureKind.BAD_KEY,
    402: FailureKind.NO_CREDIT,
    403: FailureKind.MODEL_GONE,
    404: FailureKind.MODEL_GONE,
    408: FailureKind.TIMEOUT,
    429: FailureKind.RATE_LIMITED,
    498: FailureKind.OVERLOADED,
    503: FailureKind.OVERLOADED,
    504: FailureKind.TIMEOUT,
    529: FailureKind.OVERLOADED,
}
UNSURE = frozenset({"", "tools", "output"})  # a part of the request may be named besides
STATUS_OF = {"no_credit": 402, "bad_key": 401, "model_gone": 404}  # which the advice is for


class FieldRefusedError(FatalModelError):
    """The model rejects a field; the same request without it may succeed.

    ``too_large``: it is the limit of the answer, under either of its names.
    """

    def __init__(self, text: str, field: str, *, too_large: bool = False) -> None:
        super().__init__(text)
        self.field, self.too_large = field, too_large


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
    """A provider's error: the message, the kinds (code, type), and all else that it says."""

    message: str
    kinds: tuple[str, ...] = ()
    rest: str = ""

    @property
    def words(self) -> str:
        return " ".join((self.message, *self.kinds))

    @property
    def all_words(self) -> str:
        return f"{self.words} {self.rest}"

    @property
    def status(self) -> int:
        """The HTTP status of an error inside a stream; 500 if unknown."""
        for kind in self.kinds:
            if (status := refusal_facts.find_event_status(kind)) is not None:
                return status
        return 400 if refusal_facts.find_kind(400, self.all_words) == "too_long" else 500


def parse_stated_error(data: bytes) -> ProviderError | None:
    """Return the error that a response or event of status 200 states, if any."""
    if b'"error"' not in data and b'"base_resp"' not in data:
        return None
    try:
        body = orjson.loads(data)
    except ValueError:
        return None
    if isinstance(body, list) and body:  # Gemini's
        body = body[0]
    if not isinstance(body, dict):
        return None
    flat = "error" in (body.get("object"), body.get("type"))  # Mistral's, vLLM's
    stated = body.get("error") or (flat and body) or body.get("base_resp")
    if not stated or (stated is body.get("base_resp") and not _get_code(stated)):  # MiniMax's
        return None
    return _read_error(body)


def parse_refusal(body: bytes, error_type: str = "") -> ProviderError:
    """Return the error in the body of a refusal, whatever its form; ``error_type`` is AWS's."""
    kinds = (error_type.partition(":")[0],) if error_type else ()
    try:
        found = _read_error(orjson.loads(body))
    except ValueError:
        text = body.decode("utf-8", "replace")
        text = " ".join(HTML.sub(" ", text).split()) if text.lstrip().startswith("<") else text
        return ProviderError(text, kinds)
    return found._replace(kinds=(*kinds, *found.kinds))


def _get_code(body: object) -> object:
    return body.get("status_code") if isinstance(body, dict) else None


def _read_error(body: object) -> ProviderError:
    """Return the message and kinds of an error, by the names that providers give to them."""
    while isinstance(body, list) and body:
        body = body[0]
    rest = " ".join(refusal_facts.collect_words(body))[: refusal_facts.MAX_WORDS]
    inner = body
    for name in ("error", "base_resp", "detail", "response"):
        if isinstance(inner, dict) and inner.get(name):
            inner = inner[name]
        while isinstance(inner, list) and inner:
            inner = inner[0]
    if not isinstance(inner, dict):  # xAI's, Ollama's and LM Studio's
        code = body.get("code") if isinstance(body, dict) else None
        return ProviderError(str(inner or ""), (str(code),) if code else (), rest)
    names = ("message", "msg", "status_msg", "error", "error_msg", "title")
    message = next((str(inner[name]) for name in names if inner.get(name)), "")
    meta = inner.get("metadata")
    if isinstance(meta, dict) and isinstance(meta.get("raw"), str):  # OpenRouter's: the upstream's
        message = f"{message}: {meta['raw']}"
    if isinstance(place := inner.get("loc"), list):  # FastAPI's: "body", "tools", 0
        message = f"{'.'.join(map(str, place)).removeprefix('body.')}: {message}"
    kinds = (inner.get(name) for name in ("code", "type", "param", "status"))
    found = tuple(str(kind) for kind in kinds if kind)
    code = _get_code(inner)
    return ProviderError(message, (f"minimax {code}",) if code and not found else found, rest)


def build_failure(
    account: Account,
    status: int,
    complaint: ProviderError,
    headers: Mapping[str, str] = NO_HEADERS,
    now: float = 0.0,
) -> ModelError:
    """Return the error for an HTTP status of 300 or more; the message says what to do.

    ``now`` is in seconds since the epoch, for dates in ``headers``.
    """
    words = complaint.words
    quote = f": {account.format_excerpt(complaint.message)}" if complaint.message.strip() else ""
    name = account.provider.name
    if status == BAD_REQUEST and "tool_use_failed" in words:  # Groq cannot parse the model's call
        problem = f"{name} could not read the model's tool call{quote}"
        return _mark_over_tools(RetryableModelError(problem))
    said = complaint.all_words
    meaning = refusal_facts.find_kind(status, said)
    refused = _build_request_error(account, status, meaning, complaint, quote)
    if refused is None and meaning in UNSURE:
        refused = _find_refused_part(account, status, meaning, words, quote)
    if refused is not None:
        return refused
    if not meaning and may_be_history(status, words):
        return _mark_unexplained(_build_part_error(account, "history", words, quote), status)
    error = _build_by_status(account, status, meaning, quote)
    if isinstance(error, RetryableModelError):
        error.retry_after = refusal_facts.find_wait(said, headers, now)
        error.is_loading = meaning == "loading"
        if error.retry_after is None and error.is_loading:
            error.retry_after = LOADING_SECONDS
    lasting = None if isinstance(error, RetryableModelError) else FailureKind.REFUSED
    error.kind = KINDS.get(meaning) or KINDS.get(status) or lasting
    _mark_unexplained(error, 0 if meaning else status)
    return _mark_over_tools(error) if status in TOOL_TROUBLE and not meaning else error


def _build_request_error(
    account: Account, status: int, meaning: str, complaint: ProviderError, quote: str
) -> FatalModelError | None:
    """Return the error for a request that the provider does not take in this form."""
    name, model = account.provider.name, account.model
    words = f"{complaint.message} {complaint.rest}"
    excess = refusal_facts.find_excess_of_rate(words) if meaning == "rate_limited" else None
    too_large = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and not meaning
    if meaning == "too_long" or excess or too_large:
        limit = excess or refusal_facts.find_token_limit(words)
        return worker_errors.ContextOverflowError(
            f"{name} says that the request is longer than {model!r} takes{quote}",
            limit.allowed,
            limit.counted,
            of_rate=excess is not None,
        )
    if meaning == "filtered":
        problem = f"the content filter of {name} rejected the request{quote}"
        return worker_errors.FilteredError(problem)
    if meaning == "output_limit":
        problem = f"{name} allows {model!r} shorter answers{quote}"
        return FieldRefusedError(problem, "max_tokens", too_large=True)
    return None


def _find_refused_part(
    account: Account, status: int, meaning: str, words: str, quote: str
) -> FatalModelError | None:
    """Return the error for a request that one of its parts spoils."""
    name, model, bad_request = account.provider.name, account.model, status == BAD_REQUEST
    if (part := find_refused_part(status, words)) is not None:
        return _build_part_error(account, part, words, quote)
    if status in UNREAD and (field := _find_unwanted_field(words, bad_request=bad_request)):
        return FieldRefusedError(f"{name} takes no {field} for {model!r}{quote}", field)
    if meaning == "tools":
        return ToolsRefusedError(f"{name} takes no tools for {model!r}{quote}")
    if meaning == "output":
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


def _mark_unexplained(error: ModelError, status: int) -> ModelError:
    error.unexplained = status in UNCLEAR
    return error


def _build_by_status(account: Account, status: int, meaning: str, quote: str) -> ModelError:
    passing = meaning in {"overloaded", "loading", "rate_limited"}
    known = STATUS_OF.get(meaning, status)
    server = known >= HTTPStatus.INTERNAL_SERVER_ERROR
    name = account.provider.name
    if passing or known in RETRYABLE or server:
        return RetryableModelError(f"{name} answered {status}{quote}")
    kind = worker_errors.AccountError if known in NO_ACCOUNT else FatalModelError
    return kind(f"{name} {_format_advice(account, known)}{quote}")


def _find_unwanted_field(words: str, *, bad_request: bool) -> str:
    """Return the field that an error is about, or an empty string; a request may omit it."""
    if bad_request and TEMPERATURE.search(words):
        return "temperature"
    found = FIELDS.search(words) if UNWANTED.search(words) else None
    return found[0] if found else ""


def _mark_over_tools(error: ModelError) -> ModelError:
    error.over_tools = True
    return error


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
