"""Try keys and tokens at their services."""

import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, TypeVar, TypeVarTuple
from urllib.parse import urlsplit, urlunsplit

import anyio
import httpx
from anyio import to_thread
from pydantic import BaseModel, JsonValue, ValidationError

from orchestrator.cli.output import format_count
from orchestrator.extensions.setup.model_account import ModelAccount, parse_host
from orchestrator.extensions.setup.small_models import read_window
from thinker.http.version import USER_AGENT
from thinker.protocol import model_endpoints
from thinker.protocol.messages import JsonObject
from thinker.protocol.model_endpoints import build_api_url
from thinker.protocol.providers import Provider

logging.getLogger("httpx").setLevel(logging.WARNING)  # at info it logs addresses with their tokens
Verdict = Literal["works", "refused", "unreachable"]
FAILED = (httpx.HTTPError, httpx.InvalidURL, TimeoutError)  # no answer came, or none can come
HEADERS = {"user-agent": USER_AGENT}
SECONDS = 10.0  # for a service to answer
SHOWN = 200  # characters shown of a service's error message
REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
NO_LIST = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
NOT_NOW = (HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.TOO_MANY_REQUESTS)
NEWER = "max_completion_tokens"  # which models that reason want in place of max_tokens
LIMITS: tuple[JsonObject, ...] = ({"max_tokens": 1}, {NEWER: 64})
HELLO: list[JsonValue] = [{"role": "user", "content": "hello"}]
BOT_TOKEN = re.compile(r"\d{1,19}:[\w-]+", re.ASCII)
MALFORMED = (
    "TELEGRAM_BOT_TOKEN is not a bot token; copy the token from @BotFather, which looks like"
    " 123456:ABC-DEF"
)
UNKNOWN_BOT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND)
BOT_ADVICE = "check the network, a proxy, or TELEGRAM_API_URL"


@dataclass(frozen=True)
class Trial:
    """A service's answer; ``text`` explains it to a person, without secrets."""

    verdict: Verdict
    text: str
    models: tuple[str, ...] = ()
    bot: str = ""


T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _ListedModel(BaseModel):
    id: str


class _ModelList(BaseModel):
    data: list[_ListedModel]


class _BotUser(BaseModel):
    username: str


class _BotAnswer(BaseModel):
    result: _BotUser


async def run_trial(trial: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Run a trial in a thread, which is abandoned when the caller is cancelled.

    A client of the web takes long to prepare a connection. A trial changes nothing.
    """
    return await to_thread.run_sync(trial, *arguments, abandon_on_cancel=True)


async def try_account(account: ModelAccount, key: str) -> Trial:
    """List a provider's models with the key."""
    if account.provider.name == "demo":
        return Trial("works", "the demo model needs no key")
    if not model_endpoints.KEY.fullmatch(key):
        return Trial(
            "refused",
            "this is not a key: it contains a space or another character that keys never have",
        )
    headers = model_endpoints.build_headers(account.provider, key)
    try:
        async with _open_client() as client:
            return await _fetch_models(client, account, key, headers)
    except (*FAILED, ValueError) as error:
        return Trial("unreachable", _describe_outage(account, error))


async def try_model(account: ModelAccount, key: str, model: str, seconds: float = SECONDS) -> Trial:
    """Request one token from a model; models that reason get a few more."""
    url = model_endpoints.build_chat_url(account.provider, account.url, model)
    headers = model_endpoints.build_headers(account.provider, key)
    try:
        async with _open_client(seconds) as client:
            for limit in LIMITS:
                body: JsonObject = {"model": model, "messages": HELLO, **limit}
                answer = await client.post(url, json=body, headers=headers)
                if answer.status_code != HTTPStatus.BAD_REQUEST or NEWER not in answer.text:
                    break
    except FAILED as error:
        return Trial("unreachable", _describe_outage(account, error))
    if answer.is_success:
        return Trial("works", f"{model} answers")
    return Trial(
        "refused", f"{parse_host(account.url)} refused {model}: {_describe_error(answer, key)}"
    )


async def try_window(account: ModelAccount, model: str) -> int | None:
    """Return how many tokens a model of a local server reads at once; None if unknown."""
    try:
        async with _open_client() as client:
            return await read_window(client, account, model)
    except FAILED:
        return None


async def try_bot(token: str, api_url: str) -> Trial:
    """Fetch a token's owner from Telegram; the token is part of the URL, which is never shown."""
    token, host = token.strip(), parse_host(api_url)
    if not BOT_TOKEN.fullmatch(token):
        return Trial("refused", MALFORMED)
    try:
        async with _open_client() as client:
            answer = await client.post(f"{api_url.rstrip('/')}/bot{token}/getMe")
        if answer.status_code in UNKNOWN_BOT:
            text = f"{host} does not know this token; copy it again from @BotFather"
            return Trial("refused", text)
        name = _BotAnswer.model_validate_json(answer.content).result.username
    except FAILED as error:
        why = (" ".join(str(error).split()) or type(error).__name__).replace(token, "[the token]")
        return Trial("unreachable", f"{host} cannot be reached ({why}); {BOT_ADVICE}")
    except ValidationError:
        text = f"{host} answers with {_describe_error(answer, token)}; {BOT_ADVICE}"
        return Trial("unreachable", text)
    return Trial("works", f"the token belongs to @{name}", bot=name)


@asynccontextmanager
async def _open_client(seconds: float = SECONDS) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client for requests that take so many seconds together."""
    try:
        with anyio.fail_after(seconds):
            async with httpx.AsyncClient(headers=HEADERS, timeout=seconds) as client:
                yield client
    except TimeoutError:
        raise TimeoutError(f"no answer within {seconds:g} seconds") from None


async def _fetch_models(
    client: httpx.AsyncClient, account: ModelAccount, key: str, headers: Mapping[str, str]
) -> Trial:
    base = account.url
    if account.name == "openrouter":  # it lists its models to everyone
        answer = await client.get(f"{base}/key", headers=headers)
        if answer.status_code in REFUSED:
            return _build_refusal(account, answer, key)
    answer = await client.get(httpx.URL(build_list_url(account.provider, base)), headers=headers)
    trial = _parse_models(answer, account, key)
    if account.provider.deployments and trial.models:  # what it could deploy, not what it has
        return Trial("works", f"{parse_host(base)} answers; it does not list deployments")
    return trial


def _parse_models(answer: httpx.Response, account: ModelAccount, key: str) -> Trial:
    if answer.status_code in REFUSED:
        return _build_refusal(account, answer, key)
    host = parse_host(account.url)
    if answer.status_code in NOT_NOW:
        return Trial("works", f"{host} knows the key, but says: {_describe_error(answer, key)}")
    if not answer.is_success and answer.status_code not in NO_LIST:
        text = (
            f"{host} answers with {_describe_error(answer, key)}; try later, or check the address"
        )
        return Trial("unreachable", text)
    try:
        names = tuple(model.id for model in _ModelList.model_validate_json(answer.content).data)
    except ValidationError:
        return Trial("works", f"{host} answers, and lists no models")
    names = tuple(name.removeprefix("models/") for name in names)  # as Gemini lists them
    return Trial("works", f"{host} answers and lists {format_count(len(names), 'model')}", names)


def _build_refusal(account: ModelAccount, answer: httpx.Response, key: str) -> Trial:
    host = parse_host(account.url)
    if not key:
        return Trial("refused", f"{host} wants a key: {_describe_error(answer, key)}")
    return Trial("refused", f"{host} refused the key: {_describe_error(answer, key)}")


def _describe_error(answer: httpx.Response, key: str) -> str:
    """Describe a service's error, without the key."""
    text = f"HTTP {answer.status_code}"
    try:
        found = answer.json()
        error = found[0] if isinstance(found, list) else found
        error = error.get("error", error)
        message = error if isinstance(error, str) else error.get("message", "")
    except (ValueError, AttributeError, IndexError):
        message = ""
    if isinstance(message, str) and message:
        text += f", {' '.join(message.split())[:SHOWN]}"
    return text.replace(key, "[the key]") if key else text


def _describe_outage(account: ModelAccount, error: Exception) -> str:
    why = " ".join(str(error).split()) or type(error).__name__
    advice = (
        f"is {account.name} running on this machine?"
        if account.provider.local
        else "check the network, a proxy, or the address"
    )
    return f"{parse_host(account.url)} cannot be reached ({why}); {advice}"


def build_list_url(provider: Provider, base_url: str) -> str:
    """Return the address at which a provider lists its models."""
    if provider.wire == "anthropic":
        return f"{base_url.rstrip('/').removesuffix('/v1')}/v1/models?limit=1000"
    if provider.deployments:
        parts = urlsplit(base_url)
        start = parts.path.partition("/openai")[0] + "/openai"
        base_url = urlunsplit(parts._replace(path=start))
    return build_api_url(provider, base_url, "/models", "")
