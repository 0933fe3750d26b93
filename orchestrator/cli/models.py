"""``orchestrator models``: what the providers offer, what it costs, and who uses it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated

import anyio
import typer

from orchestrator.agentsfile import AgentDefinition, AgentsFile, load
from orchestrator.agentsfile.costs import find_price
from orchestrator.agentsfile.known_models import known
from orchestrator.agentsfile.model_costs import models_of
from orchestrator.agentsfile.problems import suggestion
from orchestrator.cli._options import (
    AsJson,
    Config,
    Home,
    command_group,
    environment,
    load_settings,
)
from orchestrator.cli._prose import say
from orchestrator.cli._tables import print_json, table
from orchestrator.cli.setup.model_account import ModelAccount, account, of_agent
from orchestrator.cli.setup.trials import Trial, try_account
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ExitCode
from orchestrator.processes.launch import resolve_endpoint
from orchestrator.processes.local_models import local_servers
from thinker.protocol import model_endpoints
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import CUSTOM, PROVIDERS

app = command_group()

VERSION = re.compile(r"-\d{8}|-\d{4}-\d\d-\d\d|[:-]latest")  # what requests may leave out
KEY_MISSING = "{key} is not set; add it to keys.env in the daemon's home, or run orchestrator setup"
UNITS = "Prices are US dollars per million tokens; what stands empty is not known."


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


class ModelsReport(CamelModel):
    """What ``models --json`` prints."""

    providers: tuple[ProviderOffer, ...]


@dataclass
class Asked:
    """A provider to ask, with the key; ``used`` are the agents by model."""

    account: ModelAccount
    key: str = field(repr=False)
    used: dict[str, list[str]] = field(default_factory=dict)


@app.command()
def models(
    text: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="Show only models with this in their name.")
    ] = "",
    *,
    provider: Annotated[
        str | None, typer.Option(help="Ask this provider instead of those that agents use.")
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """List the models that the providers offer, with their prices.

    Each provider of an agent is asked now, with the key in place. Context windows and prices are
    those that the program knows, or that agents.json sets.
    """
    settings = load_settings(home, config)
    environ = environment(settings)
    file = load(settings.agents_file(), environ).file
    offers = anyio.run(_offers, file, environ, provider)
    report = ModelsReport(providers=tuple(_only(offer, text.lower()) for offer in offers))
    if as_json:
        print_json(report)
    else:
        _print(report)
    if not all(offer.works for offer in offers):
        raise typer.Exit(ExitCode.FAILED)


async def _offers(
    file: AgentsFile, environ: Mapping[str, str], provider: str | None
) -> list[ProviderOffer]:
    """Ask all providers at once; in the order of the agents."""
    asked = await _asked(file, environ)
    if provider is not None:
        chosen = account(provider)
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
        place = _place(reference.provider, str(reference.base_url or ""))
        _add(asked, place, reference.model, f'"{name}" of models', environ)
    return list(asked.values())


def _places(agent: AgentDefinition) -> Iterator[tuple[str, ModelAccount]]:
    """Yield each model that an agent uses with the account that is asked for it."""
    embeddings = agent.embeddings
    for number, reference in enumerate(models_of(agent)):
        provider, _, model = reference.partition("/")
        model = PROVIDERS[provider].default_model if model == "*" else model
        url = str(agent.base_url or "") if provider == agent.llm_provider else ""
        if embeddings is not None and number and reference == embeddings.name:
            url = str(embeddings.base_url or "")
        yield model, _place(provider, url)


def _place(provider: str, base_url: str) -> ModelAccount:
    if provider == CUSTOM:  # it is asked without a key
        return ModelAccount(CUSTOM, model_endpoints.PLAIN, base_url)
    given: JsonObject = {"llmProvider": provider, "baseUrl": base_url}
    return of_agent(given, {}) or account(provider, base_url)


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
    found = known(place.provider.name, name, place.base_url)
    price = find_price(file.prices, f"{place.provider.name}/{name}") or (found and found.price())
    return OfferedModel(
        id=name,
        context_window=found and found.context_window,
        input=price and price.input,
        output=price and price.output,
        cached=price and price.cached,
        agents=users,
    )


def _only(offer: ProviderOffer, text: str) -> ProviderOffer:
    """Return the offer with the models that have a text in their names."""
    chosen = tuple(model for model in offer.models if text in model.id.lower())
    return offer.model_copy(update={"models": chosen})


def _print(report: ModelsReport) -> None:
    shown = [
        table(
            f"{offer.provider} ({offer.address})" if offer.address else offer.provider,
            ("model", "context", "input", "output", "cached", "used by"),
            (
                (
                    model.id,
                    model.context_window and f"{model.context_window:,}",
                    *map(_dollars, (model.input, model.output, model.cached)),
                    ", ".join(model.agents),
                )
                for model in offer.models
            ),
        )
        for offer in report.providers
    ]
    priced = (model.input is not None for offer in report.providers for model in offer.models)
    if any(priced):
        say(UNITS)
    for offer, had_rows in zip(report.providers, shown, strict=True):
        none = ", none of them with that name" if offer.works and not had_rows else ""
        say(f"{offer.provider}: {offer.text}{none}")
        for model in offer.not_listed:
            users = ", ".join(model.agents)
            line = f"{users}: {offer.provider} does not list {model.id!r}; {model.advice}"
            say(line)


def _dollars(price: float | None) -> str:
    return "" if price is None else f"{price:.6g}"
