"""Try keys and tokens at the services that they are for."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from orchestrator.channels.telegram.bot_api import BotApi
from orchestrator.channels.telegram.bot_errors import Answered, BotApiError
from orchestrator.cli._output import count
from orchestrator.cli.setup.model_account import ModelAccount
from orchestrator.errors import ConfigError
from thinker.http.version import USER_AGENT
from thinker.protocol import model_endpoints
from thinker.protocol.messages import JsonObject

Verdict = Literal["works", "refused", "unreachable"]
FAILED = (httpx.HTTPError, httpx.InvalidURL)  # no answer came, or none can
SECONDS = 10.0  # for a service to answer
SHOWN = 200  # characters of what a service says about a refusal
REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
NO_LIST = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
NOT_NOW = (HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.TOO_MANY_REQUESTS)


@dataclass(frozen=True)
class Trial:
    """What a service said; ``text`` explains it to a person, and has no secret."""

    verdict: Verdict
    text: str
    models: tuple[str, ...] = ()
    bot: str = ""


class _ListedModel(BaseModel):
    id: str


class _ModelList(BaseModel):
    data: list[_ListedModel]


class _BotUser(Answered):
    username: str


async def try_account(account: ModelAccount, key: str) -> Trial:
    """Ask a provider for its models, with the key."""
    if account.provider.name == "demo":
        return Trial("works", "the demo model needs nothing")
    if not model_endpoints.KEY.fullmatch(key):
        return Trial("refused", "this is no key: it has a blank or a letter that no key has")
    headers = model_endpoints.headers(account.provider, key)
    try:
        async with _client() as client:
            return await _listed(client, account, key, headers)
    except (*FAILED, ValueError) as error:
        return Trial("unreachable", _unreachable(account, error))


async def try_model(account: ModelAccount, key: str, model: str) -> Trial:
    """Ask a model for one token; for providers that list none."""
    url = model_endpoints.chat_url(account.provider, account.url, model)
    body: JsonObject = {
        "model": model,
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "hello"}],
    }
    headers = model_endpoints.headers(account.provider, key)
    try:
        async with _client() as client:
            answer = await client.post(url, json=body, headers=headers)
    except FAILED as error:
        return Trial("unreachable", _unreachable(account, error))
    if answer.is_success:
        return Trial("works", f"{model} answers")
    return Trial("refused", f"{_host(account.url)} refused {model}: {_said(answer, key)}")


async def try_bot(token: str, api_url: str) -> Trial:
    """Ask Telegram whose token it is."""
    try:
        async with BotApi(token, api_url, send_timeout=SECONDS) as api:
            bot = await api.call("getMe", {}, _BotUser)
    except ConfigError as error:
        return Trial("refused", str(error))
    except BotApiError as error:
        if error.token_refused:
            text = f"{_host(api_url)} does not know this token; copy it again from @BotFather"
            return Trial("refused", text)
        return Trial("unreachable", f"{error}; check the network, a proxy, or TELEGRAM_API_URL")
    return Trial("works", f"the token is that of @{bot.username}", bot=bot.username)


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(headers={"user-agent": USER_AGENT}, timeout=SECONDS)


async def _listed(
    client: httpx.AsyncClient, account: ModelAccount, key: str, headers: Mapping[str, str]
) -> Trial:
    base = account.url
    if account.name == "openrouter":  # it lists its models to everyone
        answer = await client.get(f"{base}/key", headers=headers)
        if answer.status_code in REFUSED:
            return _refused(account, answer, key)
    answer = await client.get(
        httpx.URL(model_endpoints.list_url(account.provider, base)), headers=headers
    )
    trial = _models_in(answer, account, key)
    if account.provider.deployments and trial.models:  # what it could deploy, not what it has
        return Trial("works", f"{_host(base)} answers; it does not list deployments")
    return trial


def _models_in(answer: httpx.Response, account: ModelAccount, key: str) -> Trial:
    if answer.status_code in REFUSED:
        return _refused(account, answer, key)
    host = _host(account.url)
    if answer.status_code in NOT_NOW:
        return Trial("works", f"{host} knows the key, but says: {_said(answer, key)}")
    if not answer.is_success and answer.status_code not in NO_LIST:
        text = f"{host} answers with {_said(answer, key)}; try later, or check the address"
        return Trial("unreachable", text)
    try:
        names = tuple(model.id for model in _ModelList.model_validate_json(answer.content).data)
    except ValidationError:
        return Trial("works", f"{host} answers, and lists no models")
    names = tuple(name.removeprefix("models/") for name in names)  # as Gemini lists them
    return Trial("works", f"{host} answers and lists {count(len(names), 'model')}", names)


def _refused(account: ModelAccount, answer: httpx.Response, key: str) -> Trial:
    host = _host(account.url)
    if not key:
        return Trial("refused", f"{host} wants a key: {_said(answer, key)}")
    return Trial("refused", f"{host} refused the key: {_said(answer, key)}")


def _said(answer: httpx.Response, key: str) -> str:
    """Return what a service says about an error, without the key."""
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


def _unreachable(account: ModelAccount, error: Exception) -> str:
    why = " ".join(str(error).split()) or type(error).__name__
    advice = (
        f"is {account.name} running on this machine?"
        if account.provider.local
        else "check the network, a proxy, or the address"
    )
    return f"{_host(account.url)} cannot be reached ({why}); {advice}"


def _host(url: str) -> str:
    return urlsplit(url).netloc
