"""Models of agents.json as a whole: agents, bindings, channels, tool servers."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.chat_channels import ChatChannel, HostedSettings, TelegramChannel
from orchestrator.agentsfile.costs import Price
from orchestrator.agentsfile.field_types import (
    AgentId,
    ChannelName,
    ConfigModel,
    EntryName,
    HeaderName,
    Headers,
    HostName,
    HttpUrl,
    ModelName,
    PathPrefix,
    Person,
    PlatformId,
    Text,
    Variables,
    WebOrigin,
)
from orchestrator.agentsfile.hook_settings import IncomingHook, OutgoingHook
from orchestrator.agentsfile.provider_names import ProviderName
from orchestrator.agentsfile.provider_settings import ProviderSettings, all_providers
from orchestrator.agentsfile.server_sandbox import ServerSandbox
from orchestrator.page_wire import PageRole
from thinker.protocol.providers import Provider

LOOPBACK = "127.0.0.1"
MAX_CALL = 900  # seconds; the longest a tool call may take
SandboxMode: TypeAlias = Literal["auto", "required", "off"]


class Binding(ConfigModel):
    """Chooses the agent of a chat. A thread beats a chat beats "*"; among equals the first wins."""

    channel: ChannelName
    """Name of a channel: telegram, console, web, api, mcp. Never a wildcard."""
    chat_id: PlatformId
    """The chat's id, or "*" for every chat of the channel."""
    thread_id: PlatformId | None = None
    """Only this thread (topic) of the chat."""
    agent_id: AgentId
    """The agent that answers."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, in this chat."""

    @model_validator(mode="after")
    def _thread_has_a_chat(self) -> "Binding":
        if self.thread_id is not None and self.chat_id == "*":
            raise ValueError('has a threadId without a chat; set "chatId" to the id of its chat')
        return self

    @property
    def any_chat(self) -> bool:
        """Whether chats match that nothing names; the console has only the operator's."""
        return self.chat_id == "*" and self.channel != "console"

    @property
    def place(self) -> str:
        """The chat it applies to: ``telegram:42``, ``telegram:42/7``, ``web:*``."""
        thread = "" if self.thread_id is None else f"/{self.thread_id}"
        return f"{self.channel}:{self.chat_id}{thread}"


class LocalChannel(ConfigModel):
    """A channel on this machine, which needs no admission."""

    enabled: bool = True
    """Whether the channel runs."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, in every chat of this channel."""


class ApiSettings(LocalChannel):
    """The endpoints for clients of OpenAI and Anthropic; `orchestrator api token` opens them."""

    port: int = Field(8484, ge=0, le=65535)
    """Port they listen on; 0 takes a free one. ORCHESTRATOR_API_PORT overrides it."""
    host: HostName = LOOPBACK
    """Address they listen on: this machine alone, or "0.0.0.0" for containers and the network."""
    names: tuple[HostName, ...] = ()
    """Other names and addresses by which clients reach them, such as "host.docker.internal"."""
    origins: tuple[WebOrigin, ...] = ()
    """Web pages of other sites whose scripts may ask, such as "https://chat.example"."""


class McpSettings(LocalChannel):
    """What MCP clients reach: `orchestrator mcp`, and `/mcp` beside the endpoints."""

    http_role: Literal["chat", "operator"] = "chat"
    """What `/mcp` allows: talk to agents ("chat"), or all chats, approvals and traces too."""


class PageIdentity(ConfigModel):
    """People whom a proxy has authenticated: they are logged in without a code."""

    header: HeaderName
    """Header in which the proxy names the person; it must replace what a browser sends."""
    users: dict[Person, PageRole]
    """Role of each person, by what the header says: viewer, chat, approver, operator."""

    @model_validator(mode="after")
    def _each_once(self) -> "PageIdentity":
        if len({name.lower() for name in self.users}) < len(self.users):
            raise ValueError('names a person twice in "users"; capital letters do not count')
        return self

    def person(self, named: str) -> str | None:
        """Return the name in `users` of whom the header names; capital letters do not count."""
        return next((name for name in self.users if name.lower() == named.lower()), None)


class PageSettings(LocalChannel):
    """The web page, on this machine alone; `orchestrator dashboard` opens it."""

    port: int = Field(8485, ge=1, le=65535)
    """Port of 127.0.0.1 that it listens on."""
    socket: bool = False
    """Whether it listens on the unix socket `<home>/run/page.sock` instead of a port."""
    names: tuple[HostName, ...] = ()
    """Other names of this host, by which a proxy with https reaches the page."""
    path: PathPrefix = ""
    """Where the page begins behind a proxy, such as "/agents"."""
    behind_proxy: bool = False
    """Whether X-Forwarded-Proto and X-Forwarded-For of this machine count; `names` imply it."""
    identity: PageIdentity | None = None
    """People whom the proxy has authenticated; only for `names` and over https."""

    @model_validator(mode="after")
    def _identity_has_a_name(self) -> "PageSettings":
        if self.identity is not None and not self.names:
            raise ValueError(
                'has "identity" without "names", so it would never count; name the host by which'
                ' the proxy is reached in "names"'
            )
        return self

    @property
    def proxied(self) -> bool:
        """Whether a proxy on this machine may say how a browser came."""
        return self.behind_proxy or bool(self.names)


class HookChannel(LocalChannel):
    """Webhooks. The endpoints of `channels.api` take them, with or without a token."""

    incoming: dict[EntryName, IncomingHook] = Field(default_factory=dict)
    """What becomes of requests to /hooks/NAME, by name."""
    outgoing: dict[EntryName, OutgoingHook] = Field(default_factory=dict)
    """Servers that are told what is said in the chats hook:NAME, by name."""


class Channels(ConfigModel):
    """Settings of each channel; those of the channel host have the names of their folders."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, HostedSettings] = Field(init=False)

    telegram: TelegramChannel = TelegramChannel()
    """The Telegram bot."""
    console: LocalChannel = LocalChannel()
    """`orchestrator chat` and `orchestrator send`."""
    web: PageSettings = PageSettings()
    """The web page and its chats."""
    api: ApiSettings = ApiSettings()
    """The OpenAI-compatible endpoints."""
    mcp: McpSettings = McpSettings()
    """The daemon as an MCP server."""
    hook: HookChannel = HookChannel()
    """Webhooks."""

    @property
    def hosted(self) -> Mapping[str, HostedSettings]:
        """The settings of the channels of the channel host, by their names."""
        return self.__pydantic_extra__

    @property
    def reached(self) -> bool:
        """Whether senders without a token reach the endpoints: those of webhooks, and Telegram."""
        return bool((self.hook.enabled and self.hook.incoming) or self.telegram.webhook_url)

    def guarded(self) -> dict[str, ChatChannel]:
        """Return the settings of the chat platforms by their names: strangers can write there."""
        return {name: channel for name, channel in self if isinstance(channel, ChatChannel)}


class Retention(ConfigModel):
    """How many days the journal keeps what is finished."""

    turn_days: int = Field(90, ge=7)
    """Days for finished turns, with steps and prompts; `orchestrator trace` needs them."""
    conversation_days: int = Field(365, ge=7)
    """Days for messages whose session has ended or that are part of a summary."""
    picture_days: int = Field(30, ge=1)
    """Days for pictures; their descriptions stay in the conversation."""


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
    """Whether to believe its annotations: which tools only read, and which may run twice."""
    sandbox: ServerSandbox | Literal["off"] = ServerSandbox()
    """What the server's jail leaves open; "off": all that the tool host itself can reach."""
    pin: bool = True
    """Whether a tool whose description has changed is withheld until it is approved."""
    timeout_seconds: int = Field(60, ge=1, le=MAX_CALL)
    """Seconds after which a call ends as a timeout."""
    disabled: bool = False
    """Whether it is left out for now, as other MCP hosts have it."""

    @property
    def runs(self) -> bool:
        """Whether it is started: it is not switched off."""
        return not self.disabled

    @model_validator(mode="after")
    def _one_transport(self) -> "McpServer":
        if (self.command is None) == (self.url is None):
            raise ValueError('needs either "command" or "url"; set one of them')
        return self


class ModelReference(ConfigModel):
    """A model with a name of its own, which prompt definitions use."""

    provider: ProviderName
    """Where the model runs."""
    model: Text
    """The provider's name of the model."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Sampling temperature; the agent's own when absent."""
    base_url: HttpUrl | None = None
    """Address of the provider's API when it is not the usual one."""


class AgentsFile(ConfigModel):
    """The file agents.json: agents, and what they share."""

    schema_: str | None = Field(None, alias="$schema")
    """Path or URL of the JSON schema, for editors."""
    agents: tuple[AgentDefinition, ...] = Field(min_length=1)
    """The agents; at least one."""
    bindings: tuple[Binding, ...] = ()
    """Which agent answers which chat."""
    fallback_agent_id: AgentId | None = None
    """Agent for chats without a binding; when absent, they are refused."""
    channels: Channels = Channels()
    """Settings of each channel."""
    mcp_servers: dict[EntryName, McpServer] = Field(default_factory=dict)
    """MCP servers by name; their tools are called `name_tool`."""
    retention: Retention = Retention()
    """How long the journal keeps what is finished."""
    sandbox: SandboxMode = "auto"
    """Jail of the processes: as far as the kernel can ("auto"), wholly ("required"), or "off"."""
    providers: dict[EntryName, ProviderSettings] = Field(default_factory=dict)
    """Providers by a name of their own, and what differs for known ones."""
    models: dict[EntryName, ModelReference] = Field(default_factory=dict)
    """Models by name, for the `model` of prompt definitions."""
    prices: dict[ModelName, Price] = Field(default_factory=dict)
    """Prices by "provider/model" ("*" is any text), for budgets and reports in US dollars."""

    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, for every agent."""

    def usable(self) -> frozenset[str]:
        """Return the ids of the enabled agents."""
        return self._usable

    @cached_property
    def known_providers(self) -> Mapping[str, Provider]:
        """The providers that its agents can name."""
        return all_providers(self.providers)

    def agent(self, agent_id: str) -> AgentDefinition | None:
        """Return the agent with this id, enabled or not."""
        return self._by_id.get(agent_id)

    def joins_chats(self, agent_id: str) -> bool:
        """Return whether the chats of an agent share one memory."""
        if agent_id not in self._joining:
            agent = self.agent(agent_id)
            self._joining[agent_id] = agent is not None and (
                not openings(agent, self.bindings, self.fallback_agent_id, self.channels)
                if agent.memory is None
                else agent.memory == "agent"
            )
        return self._joining[agent_id]

    # A `model_copy` would keep these three: a changed file is validated anew.
    @cached_property
    def _usable(self) -> frozenset[str]:
        return frozenset(agent.agent_id for agent in self.agents if agent.enabled)

    @cached_property
    def _by_id(self) -> dict[str, AgentDefinition]:
        return {agent.agent_id: agent for agent in reversed(self.agents)}  # the first one counts

    @cached_property
    def _joining(self) -> dict[str, bool]:
        return {}


def openings(
    agent: AgentDefinition,
    bindings: Iterable[Binding],
    fallback: str | None,
    channels: Channels,
) -> tuple[str, ...]:
    """Return the settings by which chats reach an agent that no setting names.

    The console does not count: only the operator writes there.
    """
    own = [binding for binding in bindings if binding.agent_id == agent.agent_id]
    found = [f"the binding {item.place}" for item in own if item.any_chat]
    if fallback == agent.agent_id:
        found.append('"fallbackAgentId"')
    if agent.port is not None:
        found.append('"port"')
    anywhere = bool(found)
    for name, channel in channels.guarded().items():
        reached = anywhere or any(binding.channel == name for binding in own)
        if reached and channel.enabled and channel.access == "open":
            found.append(f'{name}\'s "access": "open"')
    return tuple(found)


class AgentsDiff(NamedTuple):
    """Agent ids by kind of change; a disabled agent counts as absent."""

    added: frozenset[str]
    removed: frozenset[str]
    changed: frozenset[str]
    unchanged: frozenset[str]


def diff(old: AgentsFile, new: AgentsFile) -> AgentsDiff:
    before = {agent.agent_id: agent for agent in old.agents if agent.enabled}
    after = {agent.agent_id: agent for agent in new.agents if agent.enabled}
    kept = before.keys() & after.keys()
    changed = frozenset(name for name in kept if before[name] != after[name])
    return AgentsDiff(
        added=frozenset(after.keys() - kept),
        removed=frozenset(before.keys() - kept),
        changed=changed,
        unchanged=frozenset(kept - changed),
    )
