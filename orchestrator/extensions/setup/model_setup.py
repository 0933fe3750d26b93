"""Find the models that can be used, try one, and give it to an agent of a running daemon."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio
from pydantic import JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.costs import find_price
from orchestrator.agentsfile.known_models import find_known_model
from orchestrator.errors import ConfigError, OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.extensions.setup.ability_trials import (
    Trial,
    run_trial,
    try_account,
    try_model,
    try_window,
)
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.key_choices import KeyChoices
from orchestrator.extensions.setup.model_account import (
    SHOWN,
    ModelAccount,
    find_account,
    parse_host,
)
from orchestrator.extensions.setup.proposal import (
    SetupChoices,
    choose_agent,
    list_agent_objects,
    propose_text,
)
from orchestrator.extensions.setup.setup_requests import (
    LocalServer,
    ModelOutcome,
    OfferedProvider,
    PricedModel,
    SetupOffers,
    WantedModel,
)
from orchestrator.extensions.setup.small_models import SMALL_WINDOW
from orchestrator.extensions.setup.stored_keys import StoredKeys, parse_value
from thinker.protocol.context_windows import ASSUMED, ASSUMED_LOCAL
from thinker.protocol.local_addresses import is_local_address

LOADING = 60.0  # seconds for a model of this machine, which may have to be loaded
ANSWERING = 20.0  # seconds for a model elsewhere
LISTED = 600.0  # seconds for which a provider is not asked for its models again
AGAIN = 60.0  # the same, for one that listed none
PATIENCE = 4.0  # seconds that a person who looks waits for lists
NO_KEY = "{provider} needs a key; paste it from the account that you have there"
NO_ADDRESS = "{provider} needs the address of your resource, such as https://NAME.openai.azure.com"
NO_WEB = "the address must begin with http:// or https://"
NO_MODEL = "name a model of {provider}"


@dataclass(frozen=True)
class _Wish:
    """What to try: a model of an account with a key; without a model the usual one."""

    account: ModelAccount
    key: str = field(default="", repr=False)
    model: str = ""


class _Finding(NamedTuple):
    """What a trial found; ``window`` are the tokens that a local model reads at once."""

    trial: Trial
    model: str
    window: int | None = None
    models: tuple[str, ...] = ()


@dataclass
class ModelSetup:
    """The models that a daemon's agents can have.

    ``tried`` has the model of the last trial of each agent that worked, keyed by its id. Trials run
    in threads: a client of the web takes long to load, and to prepare a connection.
    """

    daemon: DaemonView
    text: AgentsText
    keys: StoredKeys
    tried: dict[str, str] = field(default_factory=dict)
    # Until when a list counts, and the list, by address and key.
    _listed: dict[tuple[str, str], tuple[float, tuple[str, ...]]] = field(default_factory=dict)
    _trying: anyio.Lock = field(default_factory=anyio.Lock)

    async def list_offers(self, params: JsonValue) -> SetupOffers:
        """Return the servers of this machine, and the providers, with what each lists."""
        del params
        daemon, file = self.daemon, self.daemon.get_agents_file()
        named = (find_account(name, known=file.known_providers) for name in SHOWN)
        wishes = [
            _Wish(one, daemon.environ.get(one.key_var or "", ""))
            for one in named
            if not one.provider.local and one.name != "demo"
        ]
        asked = [wish for wish in wishes if wish.key and wish.account.url]
        async with anyio.create_task_group() as tasks:
            for wish in asked:
                tasks.start_soon(self._list_models, wish)
            local = await self.list_local_servers()
        return SetupOffers(
            local=local,
            providers=tuple(
                _build_offer(file, wish, self._listed.get(_name_list(wish), (0.0, ()))[1])
                for wish in wishes
            ),
        )

    async def list_local_servers(self) -> tuple[LocalServer, ...]:
        """Return the servers of models on this machine that answer now."""
        known = self.daemon.get_agents_file().known_providers
        found = [
            find_account(end.provider, known=known)
            for end in await self.daemon.machine.model_servers()
        ]
        models: dict[str, tuple[str, ...]] = {}

        async def note_models(account: ModelAccount) -> None:
            models[account.name] = await self._list_models(_Wish(account))

        async with anyio.create_task_group() as tasks:
            for account in found:
                tasks.start_soon(note_models, account)
        return tuple(
            LocalServer(
                provider=one.name,
                name=one.provider.title or one.name,
                address=one.url,
                models=models[one.name],
            )
            for one in found
        )

    async def _list_models(self, wish: _Wish) -> tuple[str, ...]:
        """Return the models that a provider lists; those of a while ago for one elsewhere."""
        now, name = self.daemon.machine.monotonic(), _name_list(wish)
        there = self._listed.get(name)
        if there is None or wish.account.provider.local or now > there[0]:
            models: tuple[str, ...] = ()
            with anyio.move_on_after(PATIENCE):
                trial = await run_trial(anyio.run, try_account, wish.account, wish.key)
                models = trial.models
            there = self._listed[name] = now + (LISTED if models else AGAIN), models
        return there[1]

    async def set_up_model(self, by: str, params: JsonValue) -> ModelOutcome:
        """Try a model with one short request; one that answers becomes that of the agent.

        Raises:
            OrchestratorError: the request cannot be right, or agents.json cannot be saved.
        """
        asked = WantedModel.model_validate(params)
        async with self._trying:
            return await self._set_up_model(asked, by)

    async def _set_up_model(self, asked: WantedModel, by: str) -> ModelOutcome:
        daemon = self.daemon
        before, value = await self.text.read_value()
        known = daemon.get_agents_file().known_providers
        agents = list_agent_objects(value)
        agent_id = choose_agent(asked.agent_id.strip(), agents)
        choices = KeyChoices(agent_id, agents, daemon.environ, known)
        wish = _choose_wish(asked, choices)
        account = wish.account
        if asked.key.strip() and account.key_var:
            await self.keys.require_changeable(account.key_var, wish.key)
        began = daemon.machine.monotonic()
        found = await run_trial(anyio.run, _try_wish, wish)
        seconds = round(daemon.machine.monotonic() - began, 2)
        if found.trial.verdict != "works":
            return ModelOutcome(
                works=False, text=found.trial.text, seconds=seconds, models=found.models
            )
        if asked.key.strip() and account.key_var:
            await self.keys.store_values({account.key_var: wish.key})
        small = found.window is not None and found.window <= SMALL_WINDOW
        wishes = SetupChoices(
            agent_id=agent_id,
            account=account,
            model=found.model,
            window=found.window if small else None,
            releases=True,
        )
        text = propose_text(before.text, wishes)
        if text != before.text:
            why = f"set up {account.name} {found.model}".rstrip()
            await self.text.save_text(text, before.base, why, by)
        self.tried[agent_id] = f"{account.provider.name}/{found.model}"
        return ModelOutcome(
            works=True,
            text=_describe_success(agent_id, account, found),
            seconds=seconds,
            saved=True,
            models=found.models,
        )


def _choose_wish(asked: WantedModel, choices: KeyChoices) -> _Wish:
    """Return what to try, with the name under which the key is stored.

    Raises:
        OrchestratorError: a part is missing or malformed.
    """
    url, name = asked.base_url.strip(), asked.provider.strip()
    if url and not (url.startswith(("http://", "https://")) and urlsplit(url).hostname):
        raise ConfigError(NO_WEB)
    account = find_account(name, url, choices.known_providers)
    title = account.provider.title or account.name
    if not account.url and account.provider.wire != "demo":
        raise ConfigError(NO_ADDRESS.format(provider=title))
    account = choices.reuse_key_variable(account)
    key = asked.key.strip() and parse_value("the key", asked.key)
    if key and not account.key_var:
        account = replace(account, key_var=account.provider.key_var)
    key = key or choices.find_allowed_key(account)
    if not key and account.needs_key:
        raise OrchestratorError(NO_KEY.format(provider=title))
    return _Wish(choices.assign_key_variable(account, key), key, asked.model.strip())


def _name_list(wish: _Wish) -> tuple[str, str]:
    return wish.account.url, wish.key


async def _try_wish(wish: _Wish) -> _Finding:
    """Try a key by the provider's list, then the model by one short request."""
    account, model = wish.account, wish.model
    trial = await try_account(account, wish.key)
    usual = account.provider.default_model
    first = usual if usual in trial.models or not trial.models else trial.models[0]
    model = model or first
    if account.provider.wire == "demo" or trial.verdict != "works":
        return _Finding(trial, "")
    if not model:
        unnamed = Trial("refused", NO_MODEL.format(provider=account.name))
        return _Finding(unnamed, "", models=trial.models)
    local = is_local_address(account.url)
    answer = await try_model(account, wish.key, model, LOADING if local else ANSWERING)
    window = await try_window(account, model) if local and answer.verdict == "works" else None
    return _Finding(answer, model, window, trial.models)


def _describe_success(agent_id: str, account: ModelAccount, found: _Finding) -> str:
    if not found.model:
        return f"{agent_id} uses rules without a model, to try everything else"
    base = account.base_url
    place = f" at {parse_host(base)}" if base else ""
    text = f"{found.trial.text}{place}; {agent_id} uses it from its next step"
    if base and found.window is None and not find_known_model(account.name, found.model, base):
        assumed = ASSUMED_LOCAL if is_local_address(base) else ASSUMED
        text += (
            f". How much it reads at once is not known: {assumed:,} tokens are assumed, unless"
            f" you set contextTokens of {agent_id}"
        )
    if found.window is not None and found.window <= SMALL_WINDOW:
        text += (
            f". It reads only {found.window} tokens at once, so {agent_id} has few tools, no skills"
            " and short answers"
        )
    return text


def _build_offer(file: AgentsFile, wish: _Wish, listed: tuple[str, ...]) -> OfferedProvider:
    account = wish.account
    usual = account.provider.default_model
    names = listed or ((usual,) if usual else ())
    price = partial(_build_priced_model, file, account)
    return OfferedProvider(
        provider=account.name,
        title=account.provider.title or account.name,
        key_variable=account.key_var,
        key_set=bool(wish.key) if account.key_var else None,
        default_model=usual,
        needs_address=not account.url,
        models=tuple(map(price, names)),
    )


def _build_priced_model(file: AgentsFile, account: ModelAccount, name: str) -> PricedModel:
    found = find_known_model(account.provider.name, name, account.base_url)
    price = find_price(file.prices, f"{account.provider.name}/{name}") or (
        found and found.find_price()
    )
    return PricedModel(id=name, input_usd=price and price.input, output_usd=price and price.output)
