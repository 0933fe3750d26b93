"""Answers of the methods of other extensions, as far as the screens show them."""

from typing import Literal

from pydantic import Field

from orchestrator.control.camel_model import CamelModel

SETUP_STATE = "setup/state"  # → SetupProgress
SETUP_OFFERS = "setup/offers"  # → ModelOffers
SETUP_MODEL = "setup/model"  # TriedModel → TrialOutcome
SETUP_BOT = "setup/bot"  # BotTrial → TrialOutcome
KEYS_LIST = "keys/list"  # → KnownKeys
KEYS_SET = "keys/set"  # name, value
KEYS_REMOVE = "keys/remove"  # name
PEOPLE_LIST = "people/list"  # → ListedPeople
PAIR_REFUSE = "pair/refuse"  # code
PAIR_RESTORE = "pair/restore"  # channel, chatId
BUDGET_EXTEND = "budget/extend"  # agentId, usd
COSTS_FORECAST = "costs/forecast"  # agentId → ForeseenCosts
RULES_ADD = "rules/add"  # code, scope, argsHash → DoneSentence
BACKUP_MAKE = "backup/make"  # → DoneSentence
DAEMON_RESTART = "daemon/restart"  # → DoneSentence


class DoneSentence(CamelModel):
    """What was done, in a sentence, and where."""

    text: str
    path: str = ""


class WhoseCosts(CamelModel):
    """Whose costs are asked for: an agent's, or those of all together (no name)."""

    agent_id: str


class ForeseenAgent(CamelModel):
    """What an agent will have cost, in a sentence."""

    text: str


class ForeseenCosts(CamelModel):
    """The forecast that was asked for."""

    agents: tuple[ForeseenAgent, ...]


class KeyUse(CamelModel):
    """A key without its value; ``origin`` says where it is set, ``users`` what needs it."""

    name: str
    set: bool
    origin: str = Field("", alias="from")
    users: tuple[str, ...] = ()


class KnownKeys(CamelModel):
    """All keys."""

    keys: tuple[KeyUse, ...]


class ModelInUse(CamelModel):
    """The model of the first agent; ``works`` is None before it was asked.

    ``host`` is where it runs, if it is not at its provider's usual address.
    """

    agent_id: str
    provider: str
    model: str
    works: bool | None = None
    problem: str = ""
    host: str = ""


class BotInUse(CamelModel):
    """A bot of Telegram."""

    account: str
    token_set: bool
    state: str = ""
    detail: str = ""
    bot_name: str | None = None


class BotsInUse(CamelModel):
    """The bots of Telegram."""

    accounts: tuple[BotInUse, ...] = ()


class LocalModels(CamelModel):
    """A server of models on this machine."""

    provider: str
    name: str = ""
    address: str
    models: tuple[str, ...] = ()


class SetupProgress(CamelModel):
    """How far a home is set up."""

    model: ModelInUse | None = None
    telegram: BotsInUse = BotsInUse()
    local_servers: tuple[LocalModels, ...] = ()
    first_message: bool = False


class ModelPrice(CamelModel):
    """A model, with US dollars per million tokens; None is unknown."""

    id: str
    input_usd: float | None = None
    output_usd: float | None = None


class ProviderChoice(CamelModel):
    """A provider; ``key_set`` is None where no key is needed."""

    provider: str
    title: str
    key_variable: str | None = None
    key_set: bool | None = None
    default_model: str = ""
    needs_address: bool = False
    models: tuple[ModelPrice, ...] = ()


class ModelOffers(CamelModel):
    """The models that can be chosen."""

    local: tuple[LocalModels, ...] = ()
    providers: tuple[ProviderChoice, ...] = ()


class TriedModel(CamelModel):
    """A model to try, and to use if it works."""

    agent_id: str = ""
    provider: str
    model: str = ""
    key: str = ""
    base_url: str = ""


class BotTrial(CamelModel):
    """A bot to try, and to use if it works; with ``replace`` also in another one's place."""

    token: str
    account: str = ""
    agent_id: str = ""
    replace: bool = False


class TrialOutcome(CamelModel):
    """What came of a trial; a model has ``seconds``, a bot its name and link."""

    works: bool
    text: str
    seconds: float = 0.0
    saved: bool = False
    bot_name: str | None = None
    link: str | None = None
    replaces: str = ""


class ListedPerson(CamelModel):
    """A chat that may write, or asks to; ``at`` in seconds since the epoch."""

    channel: str
    chat_id: str
    name: str = ""
    state: Literal["pending", "paired", "bound", "refused", "revoked"]
    role: str | None = None
    code: str | None = None
    agent_id: str | None = None
    first: str | None = None
    at: float | None = None


class ChatAdmission(CamelModel):
    """A chat to let in by its code, as what, and for which agent; empty is the usual one."""

    code: str
    role: str
    agent_id: str = ""


class ListedPeople(CamelModel):
    """All chats that were let in, are bound, or wait; those that wait first."""

    people: tuple[ListedPerson, ...]
