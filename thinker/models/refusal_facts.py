"""What a provider's refusal means, by `refusal_facts.json`; read when a call first fails."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson

from thinker.http.retry_after import parse_retry_after
from thinker.protocol.messages import MAX_DEPTH

FILE = Path(__file__).with_suffix(".json")
MAX_WORDS = 6000  # characters of a refusal that are searched
ECHOED = frozenset({"input", "failed_generation", "request", "body", "prompt", "messages"})
PLAIN = frozenset({"", "error", "message", "msg", "detail", "type", "status", "raw"})
LEAST_LIMIT = 100  # tokens; smaller numbers in a refusal are something else
LONG_WAIT = 3600.0  # seconds; for a quota of a day that names no time
# Rates by header: what is left of one, and when it is full again.
RESETS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
)
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milli|[dhms])?", re.IGNORECASE)
SECONDS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SEPARATED = re.compile(r"(?<=\d)[,_'](?=\d{3}(?!\d))")  # 131,072
NUMBER = re.compile(r"(?<![\w.-])(?<!code )\d{3,9}(?![\w.])")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)")


class _Rule(NamedTuple):
    kind: str
    statuses: frozenset[int]
    words: re.Pattern[str]


class _Facts(NamedTuple):
    rules: tuple[_Rule, ...]
    limits: tuple[re.Pattern[str], ...]
    requested: tuple[re.Pattern[str], ...]
    rate_limit: re.Pattern[str]
    long_quotas: re.Pattern[str]
    wait: re.Pattern[str]
    statuses_of_events: Mapping[str, int]


class TokenLimit(NamedTuple):
    """The tokens that a refusal allows, and those that it counted; None where it says nothing."""

    allowed: int | None = None
    counted: int | None = None


@cache
def _load_facts() -> _Facts:
    facts = orjson.loads(FILE.read_bytes())
    return _Facts(
        tuple(
            _Rule(rule["kind"], frozenset(rule.get("statuses", ())), _compile(rule["words"]))
            for rule in facts["rules"]
        ),
        tuple(_compile([text]) for text in facts["limits"]),
        tuple(_compile([text]) for text in facts["requested"]),
        _compile([facts["rate_limit"]]),
        _compile(facts["long_quotas"]),
        _compile([facts["wait"]]),
        facts["statuses_of_events"],
    )


def _compile(words: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


def find_kind(status: int, words: str) -> str:
    """Return what a refusal means by its words, as a kind of the file; empty if they say nothing.

    Order matters: a rate limit in tokens is not a request that is too long.
    """
    text = words[:MAX_WORDS]
    for rule in _load_facts().rules:
        if (not rule.statuses or status in rule.statuses) and rule.words.search(text):
            return rule.kind
    return ""


def find_event_status(kind: str) -> int | None:
    """Return the HTTP status that the kind of an error inside a stream stands for, if known."""
    if re.fullmatch(r"[45]\d\d", kind):
        return int(kind)
    return _load_facts().statuses_of_events.get(kind)


def find_token_limit(words: str) -> TokenLimit:
    """Return the limit and the size that a refusal names.

    Where no known phrase names the limit, the smaller of two numbers is taken for it, and the first
    larger one for the size.
    """
    text = SEPARATED.sub("", words[:MAX_WORDS])
    found = [int(number) for number in NUMBER.findall(text)]
    numbers = [number for number in found if number >= LEAST_LIMIT]
    allowed = _find_number(_load_facts().limits, text)
    counted = _find_number(_load_facts().requested, text)
    if allowed is None and len(set(numbers)) > 1:
        allowed = min(number for number in numbers if number != counted)
    if allowed is not None and (counted is None or counted <= allowed):
        counted = next((number for number in numbers if number > allowed), None)
    return TokenLimit(allowed, counted)


def find_excess_of_rate(words: str) -> TokenLimit | None:
    """Return the limit of a rate that a single request exceeds, so that no waiting helps."""
    found = _load_facts().rate_limit.search(SEPARATED.sub("", words[:MAX_WORDS]))
    if found is None or int(found[2]) <= int(found[1]) or int(found[1]) < LEAST_LIMIT:
        return None
    return TokenLimit(int(found[1]), int(found[2]))


def find_wait(words: str, headers: Mapping[str, str], now: float) -> float | None:
    """Return the longest wait in seconds that the text or the headers ask for, if any.

    ``now`` is in seconds since the epoch.
    """
    waits = [parse_retry_after(headers, now)]
    for left, reset in RESETS:
        if reset in headers and not _is_positive(headers.get(left, "0")):
            waits.append(_parse_reset(headers[reset], now))
    text = words[:MAX_WORDS]
    waits += [_parse_duration(found[1] or found[2]) for found in _load_facts().wait.finditer(text)]
    if _load_facts().long_quotas.search(text):
        waits.append(LONG_WAIT)
    return max((wait for wait in waits if wait is not None), default=None)


def collect_words(value: object, name: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the names and values in a provider's error, without what repeats the request."""
    if depth > MAX_DEPTH or name in ECHOED:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from collect_words(inner, str(key), depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from collect_words(inner, name, depth + 1)
    elif isinstance(value, str) and value.lstrip().startswith(("{", "[")) and depth < MAX_DEPTH:
        yield from collect_words(_parse_json(value), name, depth + 1)
    elif value is not None and not isinstance(value, bool):
        yield str(value) if name in PLAIN else f"{name} {value}"


def _parse_json(text: str) -> object:
    """Return an upstream's error inside another one; the text itself if it is no JSON."""
    try:
        return orjson.loads(text)
    except ValueError:
        return f" {text}".replace("{", "(").replace("[", "(")


def _find_number(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    found = (int(match[1]) for pattern in patterns if (match := pattern.search(text)))
    return next((number for number in found if number >= LEAST_LIMIT), None)


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def _parse_reset(text: str, now: float) -> float | None:
    """Parse ``2m59.5s``, seconds, an instant in seconds or milliseconds, or a date."""
    if TIME.fullmatch(text):
        return max(0.0, datetime.fromisoformat(text).timestamp() - now)
    try:
        number = float(text)
    except ValueError:
        return _parse_duration(text)
    if number > 1e12:  # noqa: PLR2004 - milliseconds since the epoch
        number /= 1000
    return max(0.0, number - now) if number > 1e9 else number  # noqa: PLR2004 - an instant


def _parse_duration(text: str) -> float | None:
    parts = DURATION.findall(text)
    return sum(float(n) * SECONDS[unit.lower() or "s"] for n, unit in parts) if parts else None
