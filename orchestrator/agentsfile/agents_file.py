"""Models of agents.json as a whole: agents, bindings, channels, tool servers."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import ConfigDict, Field, model_validator

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.channel_kinds import ACCOUNT_SIGN
from orchestrator.agentsfile.channel_settings import ChannelSettings, LocalChannel
from orchestrator.agentsfile.chat_channels import ChatChannel, HostedSettings
from orchestrator.agentsfile.costs import Budget, Price
from orchestrator.agentsfile.field_types import (
    AccountName,
    AgentId,
    ChannelName,
    ConfigModel,
    EntryName,
    Headers,
    HttpUrl,
    ModelName,
    PlatformId,
    Text,
    Variables,
)
from orchestrator.agentsfile.provider_names import ProviderName
from orchestrator.agentsfile.provider_settings import ProviderSettings, merge_providers
from orchestrator.agentsfile.server_sandbox import ServerSandbox
from orchestrator.channel_api import ChatRole
from thinker.protocol.providers import Provider

MAX_CALL = 900  # seconds; the longest a tool call may take
K = TypeVar("K")
S = TypeVar("S", bound=ConfigModel)
SandboxMode: TypeAlias = Literal["auto", "required", "off"]


class Binding(ConfigModel):
    """The agent of a chat. A thread beats a chat, which beats "*"; among equals the first wins."""

    channel: ChannelName
    """Name of a channel, such as telegram or console. Never a wildcard."""
    chat_id: PlatformId
    """The chat's id, or "*" for every chat of the channel."""
    thread_id: PlatformId | None = None
    """Only this thread (topic) of the chat."""
    agent_id: AgentId
    """The agent that answers."""
    account: AccountName | None = None
    """Account in `accounts` of the channel; without one, the channel's default account."""
    role: ChatRole | None = None
    """What the chat's people may do: "talk", "approve" calls, or "operate" (a person's default)."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, in this chat."""

    @model_validator(mode="after")
    def _require_one_chat(self) -> "Binding":
        if self.thread_id is not None and self.chat_id == "*":
            raise ValueError('has a threadId without a chat; set "chatId" to the id of its chat')
        if self.role is not None and self.chat_id == "*":
            raise ValueError('has a role for every chat; set "chatId" to the id of one')
        return self

    @property
    def with_channel_of_account(self) -> "Binding":
        """The binding with the account in the name of its channel, as messages have it."""
        if self.account is None:
            return self
        channel = f"{self.channel}{ACCOUNT_SIGN}{self.account}"
        return self.model_copy(update={"channel": channel, "account": None})

    @property
    def matches_any_chat(self) -> bool:
        """Whether the binding matches any chat of a channel other than the console."""
        return self.chat_id == "*" and self.channel != "console"

    @property
    def place(self) -> str:
        """The chat or channel that the binding matches, such as ``telegram:42/7`` or ``web:*``."""
        thread = "" if self.thread_id is None else f"/{self.thread_id}"
        return f"{self.channel}:{self.chat_id}{thread}"


class RouteTest(ConfigModel):
    """A chat, and the agent that must answer it; a file in which another one does is refused."""

    channel: ChannelName
    """Name of a channel, with "@" and the account if it is not the default one."""
    chat_id: PlatformId
    """The chat's id."""
    thread_id: PlatformId | None = None
    """A thread (topic) of the chat."""
    text: str = ""
    """What is written in the group, which must be for the bot by the rules for groups."""
    sender: PlatformId | None = None
    """Who writes it: a chat whose sender has another id is a group."""
    agent_id: AgentId | None
    """The agent that answers; null if the message must be refused."""


class MountedSettings(ConfigModel):
    """An object of agents.json whose entries are declared by extensions."""

    def get_settings(self, model: type[S]) -> S:
        """Return the entry of type ``model``, or its defaults if the file has none."""
        return next((entry for _, entry in self if isinstance(entry, model)), None) or model()


class Channels(MountedSettings):
    """Settings of each channel; all but the console's are declared by extensions.

    Channels of the channel host are named after their folders.
    """

    # The loader adds an entry for each account of a channel, such as ``telegram@work``.

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, HostedSettings] = Field(init=False)

    console: LocalChannel = LocalChannel()
    """`orchestrator chat` and `orchestrator send`."""

    @property
    def hosted_channels(self) -> Mapping[str, HostedSettings]:
        """The settings of the channels in the channel host, keyed by name."""
        return {name: one for name, one in self if isinstance(one, HostedSettings)}

    @property
    def is_publicly_reachable(self) -> bool:
        """Whether senders without a token reach the port of the HTTP API."""
        return any(section.opens_endpoints for section in self.list_sections().values())

    def list_sections(self) -> dict[str, ChannelSettings]:
        """Return the settings of all channels, keyed by name."""
        return dict(self)

    def is_on(self, name: str) -> bool:
        """Return whether the channel exists and is switched on."""
        section = self.list_sections().get(name)
        return section is not None and section.enabled

    def list_chat_channels(self) -> dict[str, ChatChannel]:
        """Return the settings of the chat platforms, where strangers can write, keyed by name."""
        return {name: channel for name, channel in self if isinstance(channel, ChatChannel)}


class ExtensionSettings(MountedSettings):
    """Settings of extensions, keyed by name.

    An extension of another distribution runs in the daemon only if it is named here; `{}` is
    enough.
    """

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"additionalProperties": {"type": "object"}}
    )
    __pydantic_extra__: dict[str, ConfigModel] = Field(init=False)

    def __contains__(self, name: str) -> bool:
        """Return whether the file names an extension."""
        return name in dict(self)


class Retention(ConfigModel):
    """How many days the journal keeps finished work."""

    turn_days: int = Field(90, ge=7)
    """Days for finished turns, with steps and prompts; `orchestrator trace` needs them."""
    conversation_days: int = Field(365, ge=7)
    """Days for messages whose session has ended or that are part of a summary."""
    picture_days: int = Field(30, ge=1)
    """Days for pictures; their descriptions stay in the conversation."""


class ToolArguments(ConfigModel):
    """Which arguments of a tool decide where a call goes, and which are content; patterns."""

    decide: tuple[Text, ...] = ()
    """Arguments that must be from you once a turn has read text of others."""
    content: tuple[Text, ...] = ()
    """Arguments that may be from anywhere, except the links, addresses and codes in them."""


class McpServer(ConfigModel):
    """An MCP server, as other MCP hosts write it; unknown fields are accepted."""

    model_config = ConfigDict(extra="allow")

    command: Text | None = None
    """Program to start; it speaks MCP on its standard input and output."""
    args: tuple[str, ...] = ()
    """Arguments of the program."""
    env: Variables = Field(default_factory=dict)
    """Environment variables of the program; `${NAME}` is filled in."""
    cwd: Text | None = None
    """Working directory of the program."""
    url: HttpUrl | None = None
    """Address of a running server (streamable HTTP, or the older SSE)."""
    headers: Headers = Field(default_factory=dict)
    """HTTP headers sent to `url`; `${NAME}` is filled in."""
    type: Text | None = None
    """Transport, "stdio", "http" or "sse"; by default `command` or `url` decides."""
    trusted: bool = False
    """Whether to trust the server's annotations: which tools only read, which may run twice."""
    sandbox: ServerSandbox | Literal["off"] = ServerSandbox()
    """What the server's jail leaves open; "off": all that the tool host itself can reach."""
    pin: bool = True
    """Whether a tool whose description has changed is withheld until it is approved."""
    timeout_seconds: int = Field(60, ge=1, le=MAX_CALL)
    """Seconds after which a call ends as a timeout."""
    disabled: bool = False
    """Whether the server is switched off for now, as in other MCP hosts."""
    arguments: dict[Text, ToolArguments] = Field(default_factory=dict)
    """For each tool, which arguments decide and which are content, where the names mislead."""
    directories: tuple[Text, ...] = ()
    """Patterns of tools whose results are a directory to trust, such as your address book."""

    @property
    def is_enabled(self) -> bool:
        """Whether the server is started."""
        return not self.disabled

    @model_validator(mode="after")
    def _require_one_transport(self) -> "McpServer":
        if (self.command is None) == (self.url is None):
            raise ValueError('needs either "command" or "url"; set one of them')
        return self


class ModelReference(ConfigModel):
    """A model with a name of its own, which prompt definitions use."""

    provider: ProviderName
    """Where the model runs."""
    model: Text
    """The provider's name for the model."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Sampling temperature; the agent's own when absent."""
    base_url: HttpUrl | None = None
    """Address of the provider's API when it is not the usual one."""


class _AgentNames(Protocol):
    def __contains__(self, name: str, /) -> bool: ...


class AgentsFile(ConfigModel):
    """The file agents.json: agents and shared settings."""

    schema_: str | None = Field(None, alias="$schema")
    """Path or URL of the JSON schema, for editors."""
    agents: tuple[AgentDefinition, ...] = Field(min_length=1)
    """The agents; at least one."""
    bindings: tuple[Binding, ...] = ()
    """Which agent answers which chat."""
    tests: tuple[RouteTest, ...] = ()
    """Who must answer in which chat; checked at every reading of the file."""
    fallback_agent_id: AgentId | None = None
    """Agent for chats without a binding; when absent, they are refused."""
    channels: Channels = Channels()
    """Settings of each channel."""
    extensions: ExtensionSettings = ExtensionSettings()
    """Settings of extensions; one of another distribution runs only if it is named here."""
    mcp_servers: dict[EntryName, McpServer] = Field(default_factory=dict)
    """MCP servers, keyed by name; their tools are called `name_tool`."""
    budget: Budget | None = None
    """Limits of all agents together, beside each one's own; days are those of this machine."""
    retention: Retention = Retention()
    """How long the journal keeps finished work."""
    sandbox: SandboxMode = "auto"
    """Jail of the processes: as far as the kernel can ("auto"), wholly ("required"), or "off"."""
    providers: dict[EntryName, ProviderSettings] = Field(default_factory=dict)
    """New providers, and changes to known ones, keyed by name."""
    models: dict[EntryName, ModelReference] = Field(default_factory=dict)
    """Models, keyed by name, for the `model` of prompt definitions."""
    prices: dict[ModelName, Price] = Field(default_factory=dict)
    """Prices for budgets and reports, keyed by "provider/model" ("*" is any text)."""

    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, for every agent."""

    def list_enabled_ids(self) -> frozenset[str]:
        """Return the ids of the enabled agents."""
        return self._enabled_ids

    def list_called_models(self) -> frozenset[str]:
        """List the models that enabled agents may call, named as in `thinker.models.choose`."""
        return self._called_models

    def index_agents(self) -> None:
        """Find now what is looked up for each message, which takes long for many agents."""
        vars(self).update(
            _enabled_ids=self._enabled_ids,
            _agents_by_id=self._agents_by_id,
            _called_models=self._called_models,
        )

    @cached_property
    def known_providers(self) -> Mapping[str, Provider]:
        """The providers that the file's agents can name."""
        return merge_providers(self.providers)

    def find_agent(self, agent_id: str) -> AgentDefinition | None:
        """Return the agent with this id, enabled or not."""
        return self._agents_by_id.get(agent_id)

    def list_bindings(self, channel: str, chat_id: str) -> tuple[Binding, ...]:
        """Return the bindings of a chat and those of every chat of its channel."""
        names = dict.fromkeys((chat_id, "*"))
        found = (self._bindings_by_chat.get((channel, name), ()) for name in names)
        return tuple(chain.from_iterable(found))

    def list_bound_chats(self, channel: str) -> frozenset[str]:
        """Return the chat ids in the bindings of a channel."""
        return self._bound_chats.get(channel, frozenset())

    def replace_agent(self, changed: AgentDefinition) -> "AgentsFile":
        """Return the file with another version of the agent with this id."""
        return self._replace_agents(
            changed if agent.agent_id == changed.agent_id else agent for agent in self.agents
        )

    def select_agents(self, share: _AgentNames) -> "AgentsFile":
        """Return the file with those agents whose ids are in ``share``.

        It is the same object for the same ``share``.
        """
        if not self._selected or self._selected[0][0] is not share:
            own = self._replace_agents(one for one in self.agents if one.agent_id in share)
            self._selected[:] = [(share, own)]
        return self._selected[0][1]

    def _replace_agents(self, agents: Iterable[AgentDefinition]) -> "AgentsFile":
        parts = {name: getattr(self, name) for name in AgentsFile.model_fields}
        return AgentsFile.model_construct(**parts | {"agents": tuple(agents)})

    def joins_chats(self, agent_id: str) -> bool:
        """Return whether an agent's chats share one memory."""
        if agent_id not in self._joins_by_id:
            agent = self.find_agent(agent_id)
            self._joins_by_id[agent_id] = agent is not None and (
                not list_openings(
                    agent,
                    self._bindings_by_agent.get(agent_id, ()),
                    self.fallback_agent_id,
                    self.channels,
                )
                if agent.memory is None
                else agent.memory == "agent"
            )
        return self._joins_by_id[agent_id]

    # A `model_copy` would keep all of these: a changed file is validated anew.
    @cached_property
    def _enabled_ids(self) -> frozenset[str]:
        return frozenset(agent.agent_id for agent in self.agents if agent.enabled)

    @cached_property
    def _agents_by_id(self) -> dict[str, AgentDefinition]:
        return {agent.agent_id: agent for agent in reversed(self.agents)}  # the first one counts

    @cached_property
    def _bindings_by_agent(self) -> dict[str, list[Binding]]:
        return _group_bindings(self.bindings, lambda binding: binding.agent_id)

    @cached_property
    def _bindings_by_chat(self) -> dict[tuple[str, str], list[Binding]]:
        return _group_bindings(self.bindings, lambda binding: (binding.channel, binding.chat_id))

    @cached_property
    def _bound_chats(self) -> dict[str, frozenset[str]]:
        found = _group_bindings(self.bindings, lambda binding: binding.channel)
        return {name: frozenset(one.chat_id for one in items) for name, items in found.items()}

    @cached_property
    def _called_models(self) -> frozenset[str]:
        used = (agent for agent in self.agents if agent.enabled)
        return frozenset(name for agent in used for name in agent.list_called_models())

    @cached_property
    def _selected(self) -> list[tuple[_AgentNames, "AgentsFile"]]:
        return []

    @cached_property
    def _joins_by_id(self) -> dict[str, bool]:
        return {}


def _group_bindings(
    bindings: Iterable[Binding], key: Callable[[Binding], K]
) -> dict[K, list[Binding]]:
    found = defaultdict[K, list[Binding]](list)
    for binding in bindings:
        found[key(binding)].append(binding)
    return found


def list_openings(
    agent: AgentDefinition,
    bindings: Iterable[Binding],
    fallback: str | None,
    channels: Channels,
) -> tuple[str, ...]:
    """List the settings that let a chat reach an agent without being named.

    The console does not count: only the operator writes there.
    """
    own = [binding for binding in bindings if binding.agent_id == agent.agent_id]
    found = [f"the binding {item.place}" for item in own if item.matches_any_chat]
    if fallback == agent.agent_id:
        found.append('"fallbackAgentId"')
    if agent.port is not None:
        found.append('"port"')
    anywhere = bool(found)
    for name, channel in channels.list_chat_channels().items():
        reached = anywhere or any(binding.channel == name for binding in own)
        if reached and channel.enabled and channel.access == "open":
            found.append(f'{name}\'s "access": "open"')
    return tuple(found)


class AgentsDiff(NamedTuple):
    """Agent ids, grouped by kind of change; a disabled agent counts as absent."""

    added: frozenset[str]
    removed: frozenset[str]
    changed: frozenset[str]
    unchanged: frozenset[str]


def diff_agents(old: AgentsFile, new: AgentsFile) -> AgentsDiff:
    before = {agent.agent_id: agent for agent in old.agents if agent.enabled}
    after = {agent.agent_id: agent for agent in new.agents if agent.enabled}
    kept = before.keys() & after.keys()
    changed = frozenset(
        name for name in kept if before[name] is not after[name] and before[name] != after[name]
    )
    return AgentsDiff(
        added=frozenset(after.keys() - kept),
        removed=frozenset(before.keys() - kept),
        changed=changed,
        unchanged=frozenset(kept - changed),
    )
