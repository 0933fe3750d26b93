"""What the providers offer, what it costs, and who uses it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import anyio

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.agentsfile.costs import find_price
from orchestrator.agentsfile.known_models import known
from orchestrator.agentsfile.model_costs import models_of
from orchestrator.agentsfile.problems import suggestion
from orchestrator.cli.setup.model_account import ModelAccount, account, of_agent
from orchestrator.cli.setup.trials import Trial, try_account
from orchestrator.control.camel_model import CamelModel
from orchestrator.processes.launch import resolve_endpoint
from orchestrator.processes.local_models import local_servers
from thinker.protocol import model_endpoints
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import CUSTOM, PROVIDERS, Ability, Provider

VERSION = re.compile(r"-\d{8}|-\d{4}-\d\d-\d\d|[:-]latest")  # what requests may leave out
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
    """A model that agents use and that its provider does not list, and what to do."""

    id: str
    agents: tuple[str, ...]
    advice: str


class ProviderOffer(CamelModel):
    """What a provider said; without ``works`` the text tells why it lists nothing."""

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
    """What ``models --json`` prints."""

    known: tuple[ProviderFacts, ...]
    providers: tuple[ProviderOffer, ...]


@dataclass
class Asked:
    """A provider to ask, with the key; ``used`` are the agents by model."""

    account: ModelAccount
    key: str = field(repr=False)
    used: dict[str, list[str]] = field(default_factory=dict)


def facts(file: AgentsFile, environ: Mapping[str, str]) -> Iterator[ProviderFacts]:
    """Yield what is known of each provider that agents of the file can name."""
    used: dict[str, list[str]] = {}
    for agent in file.agents:
        keys = {**environ, **agent.env}
        own = resolve_endpoint(agent, keys, ()).provider
        names = {own, *(name.partition("/")[0] for name in models_of(agent))}
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


async def offers(
    file: AgentsFile, environ: Mapping[str, str], provider: str | None
) -> list[ProviderOffer]:
    """Ask all providers at once; in the order of the agents."""
    asked = await _asked(file, environ)
    if provider is not None:
        chosen = account(provider, known=file.known_providers)
        there = [one for one in asked if one.account.url == chosen.url]
        named = [one for one in asked if one.account.name == chosen.name]
        asked = there or named or [Asked(chosen, environ.get(chosen.key_var or "", ""))]
    found: dict[int, Trial] = {}

    async def ask(number: int, one: Asked) -> None:
        missing = one.account.needs_key and not one.key
        text = KEY_MISSING.format(key=one.account.key_var)
        found[number] = (
            Trial("refused", text) if missing else await try_account(one.account, one.key)
        )

    async with anyio.create_task_group() as tasks:
        for number, one in enumerate(asked):
            tasks.start_soon(ask, number, one)
    return [_offer(file, one, found[number]) for number, one in enumerate(asked)]


async def _asked(file: AgentsFile, environ: Mapping[str, str]) -> list[Asked]:
    """Return the providers of the enabled agents and of the models by name."""
    agents = [agent for agent in file.agents if agent.enabled]
    automatic = any(agent.llm_provider == "auto" for agent in agents)
    local = await local_servers() if automatic else ()
    asked: dict[tuple[str, str], Asked] = {}
    for agent in agents:
        end = resolve_endpoint(agent, environ, local)
        whole = {"llm_provider": end.provider, "model": end.model}
        chosen = agent.model_copy(update=whole) if agent.llm_provider == "auto" else agent
        for name, place in _places(chosen):
            _add(asked, place, name, agent.agent_id, {**environ, **agent.env})
    for name, reference in file.models.items():
        place = _place(reference.provider, str(reference.base_url or ""), file.known_providers)
        _add(asked, place, reference.model, f'"{name}" of models', environ)
    return list(asked.values())


def _places(agent: AgentDefinition) -> Iterator[tuple[str, ModelAccount]]:
    """Yield each model that an agent uses with the account that is asked for it."""
    beside = {model.name: str(model.base_url or "") for _, model in agent.served}
    for number, reference in enumerate(models_of(agent)):
        provider, _, model = reference.partition("/")
        model = agent.providers[provider].default_model if model == "*" else model
        url = str(agent.base_url or "") if provider == agent.llm_provider else ""
        if number:
            url = beside.get(reference, url)
        yield model, _place(provider, url, agent.providers)


def _place(provider: str, base_url: str, known: Mapping[str, Provider]) -> ModelAccount:
    if provider == CUSTOM:  # it is asked without a key
        return ModelAccount(CUSTOM, model_endpoints.PLAIN, base_url)
    given: JsonObject = {"llmProvider": provider, "baseUrl": base_url}
    return of_agent(given, {}, known) or account(provider, base_url, known)


def _add(
    asked: dict[tuple[str, str], Asked],
    place: ModelAccount,
    model: str,
    user: str,
    environ: Mapping[str, str],
) -> None:
    key = environ.get(place.provider.key_var or "", "").strip()
    one = asked.setdefault((place.url, key), Asked(place, key))
    users = one.used.setdefault(model, [])
    if user not in users:
        users.append(user)


def _offer(file: AgentsFile, one: Asked, trial: Trial) -> ProviderOffer:
    works = trial.verdict == "works"
    listed = trial.models or (tuple(one.used) if works else ())
    users = {name: _users(one, name, listed) for name in listed}
    return ProviderOffer(
        provider=one.account.name,
        address=one.account.url,
        works=works,
        text=trial.text,
        models=tuple(
            _offered(file, one.account, name, users[name])
            for name in sorted(listed, key=lambda name: (not users[name], name))
        ),
        not_listed=tuple(
            UnlistedModel(
                id=model,
                agents=tuple(agents),
                advice=suggestion(model, listed, "check its name").removeprefix("; "),
            )
            for model, agents in one.used.items()
            if works and not any(_means(model, name, listed) for name in listed)
        ),
    )


def _users(one: Asked, name: str, listed: tuple[str, ...]) -> tuple[str, ...]:
    users = (agents for model, agents in one.used.items() if _means(model, name, listed))
    return tuple(dict.fromkeys(chain.from_iterable(users)))


def _means(model: str, name: str, listed: tuple[str, ...]) -> bool:
    """Return whether a request for ``model`` is answered by the listed ``name``."""
    if model in listed:
        return model == name
    return name.startswith(model) and VERSION.fullmatch(name[len(model) :]) is not None


def _offered(
    file: AgentsFile, place: ModelAccount, name: str, users: tuple[str, ...]
) -> OfferedModel:
    own = place.provider is not PROVIDERS.get(place.provider.name)
    found = known(place.provider.name, name, place.url if own else place.base_url)
    price = find_price(file.prices, f"{place.provider.name}/{name}") or (found and found.price())
    return OfferedModel(
        id=name,
        context_window=found and found.context_window,
        input=price and price.input,
        output=price and price.output,
        cached=price and price.cached,
        agents=users,
    )


def only(offer: ProviderOffer, text: str) -> ProviderOffer:
    """Return the offer with the models that have a text in their names."""
    chosen = tuple(model for model in offer.models if text in model.id.lower())
    return offer.model_copy(update={"models": chosen})
