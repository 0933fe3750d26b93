"""agents.json as a whole: agents, bindings, channels, tool servers (design §5)."""

from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from orchestrator.definitions.agent import AgentDefinition, ProviderName
from orchestrator.definitions.costs import Price
from orchestrator.definitions.fields import (
    AgentId,
    ChannelName,
    ConfigModel,
    EntryName,
    HttpUrl,
    ModelName,
    NumericId,
    PlatformId,
    Text,
    Variables,
)

MAX_CALL = 900  # seconds that a tool may take (reliability.md §4.6)
Access: TypeAlias = Literal["pairing", "allowlist", "open"]


class Binding(ConfigModel):
    """Which agent answers a chat. Thread beats chat beats "*"; among equals the first wins."""

    channel: ChannelName
    """Name of a channel: telegram, console, web, api. Never a wildcard."""
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
    def place(self) -> str:
        """Where it applies, for people: ``telegram:42``, ``telegram:42/7``, ``web:*``."""
        thread = "" if self.thread_id is None else f"/{self.thread_id}"
        return f"{self.channel}:{self.chat_id}{thread}"


class TelegramChannel(ConfigModel):
    """Who may talk to the bot."""

    enabled: bool = True
    """Whether the channel runs (it also needs TELEGRAM_BOT_TOKEN)."""
    access: Access = "pairing"
    """Unknown chats: "pairing" asks the operator, "allowlist" refuses, "open" admits all."""
    allowlist: tuple[NumericId, ...] = ()
    """Numeric ids of the users and chats that are admitted."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, in every chat of this channel."""


class LocalChannel(ConfigModel):
    """A channel on this machine, which needs no admission."""

    enabled: bool = True
    """Whether the channel runs."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, in every chat of this channel."""


class ApiChannel(LocalChannel):
    """The OpenAI-compatible endpoints, on 127.0.0.1; they need `orchestrator api token`."""

    port: int = Field(8484, ge=0, le=65535)
    """Where they listen; 0 takes a free port. ORCHESTRATOR_API_PORT comes first."""


class Channels(ConfigModel):
    """Settings of each channel."""

    telegram: TelegramChannel = TelegramChannel()
    """Telegram bot."""
    console: LocalChannel = LocalChannel()
    """`orchestrator chat` and `orchestrator send`."""
    web: LocalChannel = LocalChannel()
    """Web chat."""
    api: ApiChannel = ApiChannel()
    """OpenAI-compatible endpoints."""


class Retention(ConfigModel):
    """How long the journal keeps what nobody needs any more, in days."""

    turn_days: int = Field(90, ge=7)
    """Finished turns with their steps and prompts; `orchestrator trace` knows no older ones."""
    conversation_days: int = Field(365, ge=7)
    """What was said, once its session has ended or a summary stands for it."""
    picture_days: int = Field(30, ge=1)
    """Pictures; what they were of stays in the conversation."""


class McpServer(ConfigModel):
    """A tool server, in the form that other MCP hosts use; fields we do not know are kept."""

    model_config = ConfigDict(extra="allow")

    command: Text | None = None
    """Program to start; it speaks MCP on its standard input and output."""
    args: tuple[str, ...] = ()
    """Arguments of the program."""
    env: Variables = Field(default_factory=dict)
    """Environment variables of the program."""
    cwd: Text | None = None
    """Working directory of the program."""
    url: HttpUrl | None = None
    """Address of a server that is already running."""
    headers: dict[str, str] = Field(default_factory=dict)
    """HTTP headers sent to `url`."""
    type: Text | None = None
    """Transport: stdio or http; known from `command` or `url` when absent."""
    trusted: bool = False
    """Whether to believe what it says about its tools: that they only read, or may run twice."""
    pin: bool = True
    """Whether a tool that the server describes in another way than before waits for approval."""
    timeout_seconds: int = Field(60, ge=1, le=MAX_CALL)
    """Seconds that one call may take."""

    @model_validator(mode="after")
    def _one_transport(self) -> "McpServer":
        if (self.command is None) == (self.url is None):
            raise ValueError('needs either "command" or "url"; set one of them')
        return self


class ModelReference(ConfigModel):
    """A model under a name that prompt definitions use (seed 000)."""

    provider: ProviderName
    """Where the model runs."""
    model: Text
    """The provider's name of the model."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Sampling temperature."""
    base_url: HttpUrl | None = None
    """Address of the provider's API when it is not the usual one."""


class AgentsFile(ConfigModel):
    """agents.json."""

    schema_: str | None = Field(None, alias="$schema")
    """Where an editor finds the schema of this file."""
    agents: tuple[AgentDefinition, ...] = Field(min_length=1)
    """The agents."""
    bindings: tuple[Binding, ...] = ()
    """Which agent answers which chat. A chat without a binding is refused."""
    fallback_agent_id: AgentId | None = None
    """The agent that answers chats without a binding; absent, they are refused."""
    channels: Channels = Channels()
    """Settings of each channel."""
    mcp_servers: dict[EntryName, McpServer] = Field(default_factory=dict)
    """Tool servers by name, as in other MCP hosts."""
    retention: Retention = Retention()
    """How long the journal keeps what is finished."""
    models: dict[EntryName, ModelReference] = Field(default_factory=dict)
    """Models by name, for prompt definitions."""
    prices: dict[ModelName, Price] = Field(default_factory=dict)
    """Prices by "provider/model" ("*" is any text), for budgets and reports in US dollars."""

    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, for every agent."""

    def usable(self) -> frozenset[str]:
        """The ids of the agents that take messages."""
        return frozenset(agent.agent_id for agent in self.agents if agent.enabled)

    def agent(self, agent_id: str) -> AgentDefinition | None:
        """The agent of this id, enabled or not."""
        return next((agent for agent in self.agents if agent.agent_id == agent_id), None)
