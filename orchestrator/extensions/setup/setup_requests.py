"""Requests of the page, and of commands, to set up models, bots and keys in a running daemon."""

from typing import Literal

from pydantic import ConfigDict, Field

from orchestrator.channel_api import ChatRole
from orchestrator.control.camel_model import CamelModel

SETUP_STATE = "setup/state"  # → SetupState
SETUP_OFFERS = "setup/offers"  # → SetupOffers
SETUP_MODEL = "setup/model"  # WantedModel → ModelOutcome
SETUP_BOT = "setup/bot"  # WantedBot → BotOutcome
KEYS_LIST = "keys/list"  # → KeyList
KEYS_SET = "keys/set"  # KeyValue → KeyOutcome
KEYS_REMOVE = "keys/remove"  # KeyName → KeyOutcome
PEOPLE_LIST = "people/list"  # → PeopleList

MAX_SECRET = 8000  # characters; keys that are signed documents have up to a few thousand
MAX_NAME = 200  # characters of a name of a model, a provider or a key


class SecretModel(CamelModel):
    """A request with a secret in it, which no message about a wrong field repeats."""

    model_config = ConfigDict(hide_input_in_errors=True)


class WantedModel(SecretModel):
    """The model that an agent should have; without a ``model`` the provider's usual one.

    ``key`` is for the provider; without one, the key that is set. ``base_url`` is the address of
    another server with the provider's API.
    """

    agent_id: str = Field("", max_length=MAX_NAME)
    provider: str = Field(min_length=1, max_length=MAX_NAME)
    model: str = Field("", max_length=MAX_NAME)
    key: str = Field("", max_length=MAX_SECRET, repr=False)
    base_url: str = Field("", max_length=2000)


class ModelOutcome(CamelModel):
    """What came of a trial; ``models`` are those that the provider lists, if it was asked."""

    works: bool
    text: str
    seconds: float = 0.0
    saved: bool = False
    models: tuple[str, ...] = ()


class WantedBot(SecretModel):
    """A bot of Telegram; without an ``account`` the first one, without an agent the first one.

    Only with ``replace`` does it take the place of another bot.
    """

    token: str = Field(min_length=1, max_length=MAX_SECRET, repr=False)
    account: str = Field("", max_length=MAX_NAME)
    agent_id: str = Field("", max_length=MAX_NAME)
    replace: bool = False


class BotOutcome(CamelModel):
    """What came of a token's trial; ``replaces`` is the bot that would lose its place."""

    works: bool
    text: str
    saved: bool = False
    bot_name: str | None = None
    link: str | None = None
    replaces: str = ""


class KeyName(CamelModel):
    """The name of a key."""

    name: str = Field(max_length=MAX_NAME)


class KeyValue(SecretModel):
    """A key and its value."""

    name: str = Field(max_length=MAX_NAME)
    value: str = Field(max_length=MAX_SECRET, repr=False)


class KeyOutcome(CamelModel):
    """What was done with a key, in a sentence."""

    name: str
    text: str


class KeyReport(CamelModel):
    """A key, without its value: whether and where it is set, and what uses it."""

    name: str
    set: bool
    origin: str = Field("", alias="from")
    users: tuple[str, ...] = ()


class KeyList(CamelModel):
    """The keys that are set, and those that agents.json needs."""

    keys: tuple[KeyReport, ...]


class ModelState(CamelModel):
    """The model of the first agent; ``works`` is None before it was ever asked.

    ``host`` is where it runs, if it is not at its provider's usual address.
    """

    agent_id: str
    provider: str
    model: str
    works: bool | None
    problem: str = ""
    host: str = ""


class BotState(CamelModel):
    """A bot of Telegram; ``state`` is that of its channel."""

    account: str
    token_set: bool
    state: str = ""
    detail: str = ""
    bot_name: str | None = None


class TelegramState(CamelModel):
    """The bots of Telegram."""

    accounts: tuple[BotState, ...]


class LocalServer(CamelModel):
    """A server of models on this machine."""

    provider: str
    name: str
    address: str
    models: tuple[str, ...]


class SetupState(CamelModel):
    """How far a home is set up; without an agent there is no ``model``."""

    model: ModelState | None
    telegram: TelegramState
    keys: tuple[KeyReport, ...]
    local_servers: tuple[LocalServer, ...]
    first_message: bool


class PricedModel(CamelModel):
    """A model with its prices in US dollars per million tokens; None is unknown."""

    id: str
    input_usd: float | None
    output_usd: float | None


class OfferedProvider(CamelModel):
    """A provider that can be chosen; ``key_set`` is None for one that needs no key."""

    provider: str
    title: str
    key_variable: str | None
    key_set: bool | None
    default_model: str
    needs_address: bool
    models: tuple[PricedModel, ...]


class SetupOffers(CamelModel):
    """The models that can be chosen: those of this machine first."""

    local: tuple[LocalServer, ...]
    providers: tuple[OfferedProvider, ...]


class ChosenAgent(CamelModel):
    """A chat's code, what the chat may do, and the agent that is to answer it."""

    code: str = Field(max_length=MAX_NAME)
    role: ChatRole | None = None
    agent_id: str = Field("", max_length=MAX_NAME)


class KnownPerson(CamelModel):
    """A person or group that may write, or asks to; ``at`` in seconds since the epoch.

    ``first`` is the beginning of the first message that waits for the decision. A ``bound`` one is
    named in agents.json.
    """

    channel: str
    chat_id: str
    name: str = ""
    state: Literal["pending", "paired", "bound", "refused", "revoked"]
    role: ChatRole | None = None
    code: str | None = None
    agent_id: str | None = None
    first: str | None = None
    at: float | None = None


class PeopleList(CamelModel):
    """All people that the chat systems know; those that wait come first."""

    people: tuple[KnownPerson, ...]
