"""The providers' models, their prices and their users."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import anyio

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.agentsfile.costs import find_price
from orchestrator.agentsfile.known_models import find_known_model
from orchestrator.agentsfile.model_costs import list_models
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.control.camel_model import CamelModel
from orchestrator.extensions.setup.ability_trials import Trial, try_account
from orchestrator.extensions.setup.model_account import (
    ModelAccount,
    find_account,
    find_agent_account,
)
from orchestrator.processes.launch import resolve_endpoint
from orchestrator.processes.local_models import find_local_servers
from thinker.protocol import model_endpoints
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import CUSTOM, PROVIDERS, Ability, Provider

VERSION = re.compile(r"-\d{8}|-\d{4}-\d\d-\d\d|[:-]latest")  # optional parts of requests
KEY_MISSING = "{key} is not set; add it to keys.env in the daemon's home, or run orchestrator setup"


class OfferedModel(CamelModel):
    """A model of a provider. Prices are in US dollars per million tokens; None is unknown."""

    id: str
    context_window: int | None
    input: float | None
    output: float | None
    cached: float | None
    agents: tuple[str, ...]


class UnlistedModel(CamelModel):
    """A model in use that its provider does not list, with advice."""

    id: str
    agents: tuple[str, ...]
    advice: str


class ProviderOffer(CamelModel):
    """A provider's answer; without ``works``, the text says why no model is listed."""

    provider: str
    address: str
    works: bool
    text: str
    models: tuple[OfferedModel, ...] = ()
    not_listed: tuple[UnlistedModel, ...] = ()


class ProviderFacts(CamelModel):
    """A provider that agents can name; ``key_set`` is None for one that needs no key."""

    name: str
    key_variable: str | None
    key_set: bool | None
    can: tuple[Ability, ...]
    agents: tuple[str, ...]


class ModelsReport(CamelModel):
    """The output of ``models --json``."""

    known: tuple[ProviderFacts, ...]
    providers: tuple[ProviderOffer, ...]


@dataclass
class ProviderQuery:
    """A provider to query with a key; ``used`` has the agents, keyed by model."""

    account: ModelAccount
    key: str = field(repr=False)
    used: dict[str, list[str]] = field(default_factory=dict)


def list_provider_facts(file: AgentsFile, environ: Mapping[str, str]) -> Iterator[ProviderFacts]:
    """Yield the data of each provider that agents of the file can name."""
    used: dict[str, list[str]] = {}
    for agent in file.agents:
        keys = {**environ, **agent.env}
        own = resolve_endpoint(agent, keys, ()).provider
        names = {own, *(name.partition("/")[0] for name in list_models(agent))}
        for name in names if agent.enabled else ():
            used.setdefault(name, []).append(agent.agent_id)
    for name, provider in file.known_providers.items():
        key = provider.key_var
        yield ProviderFacts(
            name=name,
            key_variable=key,
            key_set=None if key is None else bool(environ.get(key)),
            can=provider.can,
            agents=tuple(used.get(name, ())),
        )


async def fetch_offers(
    file: AgentsFile, environ: Mapping[str, str], provider: str | None
) -> list[ProviderOffer]:
    """Query all providers concurrently; results are in the order of the agents."""
    queries = await _list_provider_queries(file, environ)
    if provider is not None:
        chosen = find_account(provider, known=file.known_providers)
        there = [one for one in queries if one.account.url == chosen.url]
        named = [one for one in queries if one.account.name == chosen.name]
        queries = there or named or [ProviderQuery(chosen, environ.get(chosen.key_var or "", ""))]
    found: dict[int, Trial] = {}

    async def query_provider(number: int, one: ProviderQuery) -> None:
        missing = one.account.needs_key and not one.key
        text = KEY_MISSING.format(key=one.account.key_var)
        found[number] = (
            Trial("refused", text) if missing else await try_account(one.account, one.key)
        )

    async with anyio.create_task_group() as tasks:
        for number, one in enumerate(queries):
            tasks.start_soon(query_provider, number, one)
    return [_build_offer(file, one, found[number]) for number, one in enumerate(queries)]


async def _list_provider_queries(
    file: AgentsFile, environ: Mapping[str, str]
) -> list[ProviderQuery]:
    """Return the providers of enabled agents and of named models."""
    agents = [agent for agent in file.agents if agent.enabled]
    automatic = any(agent.llm_provider == "auto" for agent in agents)
    local = await find_local_servers() if automatic else ()
    queries: dict[tuple[str, str], ProviderQuery] = {}
    for agent in agents:
        end = resolve_endpoint(agent, environ, local)
        whole = {"llm_provider": end.provider, "model": end.model}
        chosen = agent.model_copy(update=whole) if agent.llm_provider == "auto" else agent
        for name, place in _list_model_accounts(chosen):
            _add_user(queries, place, name, agent.agent_id, {**environ, **agent.env})
    for name, reference in file.models.items():
        place = _resolve_account(
            reference.provider, str(reference.base_url or ""), file.known_providers
        )
        _add_user(queries, place, reference.model, f'"{name}" of models', environ)
    return list(queries.values())


def _list_model_accounts(agent: AgentDefinition) -> Iterator[tuple[str, ModelAccount]]:
    """Yield each model that an agent uses, with its account."""
    beside = {model.name: str(model.base_url or "") for _, model in agent.served_models}
    for number, reference in enumerate(list_models(agent)):
        provider, _, model = reference.partition("/")
        model = agent.providers[provider].default_model if model == "*" else model
        url = str(agent.base_url or "") if provider == agent.llm_provider else ""
        if number:
            url = beside.get(reference, url)
        yield model, _resolve_account(provider, url, agent.providers)


def _resolve_account(provider: str, base_url: str, known: Mapping[str, Provider]) -> ModelAccount:
    if provider == CUSTOM:  # it is called without a key
        return ModelAccount(CUSTOM, model_endpoints.PLAIN, base_url)
    given: JsonObject = {"llmProvider": provider, "baseUrl": base_url}
    return find_agent_account(given, {}, known) or find_account(provider, base_url, known)


def _add_user(
    queries: dict[tuple[str, str], ProviderQuery],
    place: ModelAccount,
    model: str,
    user: str,
    environ: Mapping[str, str],
) -> None:
    key = environ.get(place.provider.key_var or "", "").strip()
    one = queries.setdefault((place.url, key), ProviderQuery(place, key))
    users = one.used.setdefault(model, [])
    if user not in users:
        users.append(user)


def _build_offer(file: AgentsFile, one: ProviderQuery, trial: Trial) -> ProviderOffer:
    works = trial.verdict == "works"
    listed = trial.models or (tuple(one.used) if works else ())
    users = {name: _list_users(one, name, listed) for name in listed}
    return ProviderOffer(
        provider=one.account.name,
        address=one.account.url,
        works=works,
        text=trial.text,
        models=tuple(
            _build_offered_model(file, one.account, name, users[name])
            for name in sorted(listed, key=lambda name: (not users[name], name))
        ),
        not_listed=tuple(
            UnlistedModel(
                id=model,
                agents=tuple(agents),
                advice=suggest_name(model, listed, "check its name").removeprefix("; "),
            )
            for model, agents in one.used.items()
            if works and not any(_matches_model(model, name, listed) for name in listed)
        ),
    )


def _list_users(one: ProviderQuery, name: str, listed: tuple[str, ...]) -> tuple[str, ...]:
    users = (agents for model, agents in one.used.items() if _matches_model(model, name, listed))
    return tuple(dict.fromkeys(chain.from_iterable(users)))


def _matches_model(model: str, name: str, listed: tuple[str, ...]) -> bool:
    """Return whether the listed ``name`` answers requests for ``model``."""
    if model in listed:
        return model == name
    return name.startswith(model) and VERSION.fullmatch(name[len(model) :]) is not None


def _build_offered_model(
    file: AgentsFile, place: ModelAccount, name: str, users: tuple[str, ...]
) -> OfferedModel:
    own = place.provider is not PROVIDERS.get(place.provider.name)
    found = find_known_model(place.provider.name, name, place.url if own else place.base_url)
    price = find_price(file.prices, f"{place.provider.name}/{name}") or (
        found and found.find_price()
    )
    return OfferedModel(
        id=name,
        context_window=found and found.context_window,
        input=price and price.input,
        output=price and price.output,
        cached=price and price.cached,
        agents=users,
    )


def filter_offer(offer: ProviderOffer, text: str) -> ProviderOffer:
    """Return the offer with only the models whose names contain ``text``."""
    chosen = tuple(model for model in offer.models if text in model.id.lower())
    return offer.model_copy(update={"models": chosen})
