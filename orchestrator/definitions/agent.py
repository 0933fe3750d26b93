"""One agent of agents.json: seed 002's fields and ours (design §5)."""

from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from orchestrator.definitions.costs import Budget
from orchestrator.definitions.fields import (
    AgentId,
    ConfigModel,
    HttpUrl,
    PlatformId,
    Text,
    Timezone,
    Variables,
    provider_keys,
)
from thinker.protocol.providers import CUSTOM, PROVIDERS

ProviderName: TypeAlias = Literal[
    "groq", "openai", "anthropic", "openrouter", "ollama", "lmstudio", "demo", "auto"
]
CHOOSES_MODEL = frozenset({"auto", "demo"})  # providers that need no model in the file


class CostControls(ConfigModel):
    """Anomaly detection on token use; ranges from reference/annabelle.md §1."""

    enabled: bool = False
    """Pause the agent when its token use is out of line."""
    short_window_minutes: int = Field(2, ge=1, le=30)
    """Length of the window that is compared with the baseline, in minutes."""
    spike_multiplier: float = Field(3.0, ge=1.5, le=10)
    """How many times the baseline rate the short window may use."""
    hard_cap_tokens_per_hour: int = Field(500_000, ge=10_000)
    """Tokens in any hour that pause the agent whatever the baseline says."""
    minimum_baseline_tokens: int = Field(1000, ge=100)
    """Tokens that must have been used before spikes are looked for."""
    minimum_baseline_rate: int = Field(10_000, ge=0)
    """Tokens per minute below which nothing counts as a spike."""
    notify_channel: Text | None = None
    """Channel that is told about a pause; the chat of the message when absent."""
    notify_chat_id: PlatformId | None = None
    """Chat that is told about a pause."""


class Limits(ConfigModel):
    """Hard limits of one agent."""

    max_tokens_per_turn: int = Field(0, ge=0)
    """Tokens that one turn may use; 0 means no limit."""
    turn_minutes: int = Field(15, ge=1, le=120)
    """Minutes after which a turn is ended."""
    recent_image_threshold: int = Field(10, ge=1, le=50)
    """The newest messages whose pictures the model is shown; older ones are described."""
    max_concurrent_turns: int = Field(4, ge=1, le=64)
    """Turns of different chats that may run at once."""


class Compaction(ConfigModel):
    """When the older part of a conversation becomes a summary."""

    enabled: bool = True
    """Whether conversations are summarised; without it the model sees the last 50 messages."""
    threshold_tokens: int = Field(5000, ge=100)
    """Estimated tokens of a conversation, tool results included, from which on it is summarised."""
    keep_turns: int = Field(5, ge=1, le=25)
    """The newest turns, which stay as they are."""


class FactExtraction(ConfigModel):
    """Looking for facts about the user in conversations that have gone quiet."""

    enabled: bool = True
    """Whether conversations are looked through."""
    idle_minutes: float = Field(5, gt=0, le=1440)
    """Minutes without a message after which a conversation counts as quiet."""
    max_turns: int = Field(10, ge=2, le=50)
    """Turns that are looked through at once; a longer stretch takes several calls."""


class EmbeddingsModel(ConfigModel):
    """Who tells what texts mean: any server that speaks OpenAI's ``/embeddings``."""

    model: Text
    """The provider's name of the model."""
    provider: Literal["openai", "openrouter", "ollama", "lmstudio"] | None = None
    """Where the model runs; without it baseUrl is asked, with no key."""
    base_url: HttpUrl | None = None
    """Address of the API when it is not the provider's usual one."""
    dimensions: int | None = Field(None, ge=1, le=4096)
    """Numbers of a vector, for models that can make shorter ones."""

    @model_validator(mode="after")
    def _is_somewhere(self) -> "EmbeddingsModel":
        if self.provider is None and self.base_url is None:
            raise ValueError('needs "provider" or "baseUrl"; set one of them')
        return self

    @property
    def name(self) -> str:
        """As it stands in usage and prices."""
        return f"{self.provider or CUSTOM}/{self.model}"


class AgentDefinition(ConfigModel):
    """What one agent is: model, prompt, tools, limits."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {
                "properties": {"llmProvider": {"enum": [*sorted(CHOOSES_MODEL)]}},
                "required": ["llmProvider"],
            },
            "else": {"required": ["model"]},
        }
    )

    agent_id: AgentId
    """Unique name: lower-case letters, digits, "-" and "_", at most 64 characters."""
    enabled: bool = True
    """Whether the agent takes messages."""
    llm_provider: ProviderName = "groq"
    """Where the model runs; "auto" takes the first provider with a key or a local server."""
    model: Text | None = Field(None, validate_default=True)
    """The provider's name of the model; required unless llmProvider is "auto" or "demo"."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Sampling temperature."""
    max_steps: int = Field(8, ge=1, le=50)
    """Model calls that one message may take."""
    system_prompt: str = ""
    """The base prompt; empty takes the persona file or the default prompt."""
    allowed_tools: tuple[Text, ...] = ()
    """Tools the agent may use, as globs ("*" is any text); empty allows all."""
    denied_tools: tuple[Text, ...] = ()
    """Tools the agent may not use, as globs; wins over allowedTools."""
    port: int | None = Field(None, ge=0, le=65535)
    """Port on 127.0.0.1 for clients of the older HTTP interface; 0 picks a free one."""
    idle_timeout_minutes: int = Field(30, ge=1)
    """Minutes without a message after which the agent's process leaves."""
    cost_controls: CostControls | None = None
    """Pausing on unusual token use."""
    budget: Budget | None = None
    """Hard limits in tokens and US dollars; the agent pauses while one is used up."""
    prompt: Text | None = None
    """Name of a prompt definition to use as the base prompt."""
    as_tool: Literal["handoff", "subagent"] = "handoff"
    """What the agent does where a prompt of another one names it as a tool."""
    base_url: HttpUrl | None = None
    """Address of the provider's API when it is not the usual one."""
    tool_calls: Literal["native", "text", "auto"] = "auto"
    """How tools are offered: by the provider's interface, as text, or by what it can do."""
    structured_output: Literal["native", "text", "auto"] = "auto"
    """How the form of an answer is asked for: also by the provider's interface, or in words."""
    fallback_models: tuple[Text, ...] = ()
    """Models to try in turn when the first fails: "model" or "provider/model"."""
    vision: bool | None = None
    """Whether the model is shown pictures; known from its name when absent."""
    small_model: Text | None = None
    """Model for summaries and facts: "model" or "provider/model"; the agent's own when absent."""
    compaction: Compaction = Compaction()
    """Summaries of long conversations."""
    fact_extraction: FactExtraction = FactExtraction()
    """Facts found after a conversation."""
    embeddings: EmbeddingsModel | None = None
    """Choosing tools and memories by what a message means; by its words alone when absent."""
    skills: tuple[Text, ...] = ("*",)
    """Skills the agent may use, as globs."""
    allow_hooks: bool = False
    """Whether hooks (Python in the home's hooks directory, or installed) may run in its process."""
    hooks: tuple[Text, ...] = ()
    """Hooks to run, by id; those of a prompt definition take their place."""
    env: Variables = Field(default_factory=dict)
    """Extra environment variables of the agent's process."""
    while_busy: Literal["queue", "steer", "interrupt"] = "queue"
    """What a message does that arrives while its chat is being answered."""
    prompt_layout: Literal["system", "cached"] = "system"
    """Whether changing layers stay in the system prompt or move to the newest message."""
    limits: Limits = Limits()
    """Hard limits."""
    approvals: tuple[Text, ...] = ()
    """Tools that a person must approve each time, as globs."""
    timezone: Timezone | None = None
    """IANA time zone for dates in the prompt; the machine's setting when absent."""

    @field_validator("model")
    @classmethod
    def _model_is_known(cls, value: str | None, info: ValidationInfo) -> str | None:
        provider = info.data.get("llm_provider")
        if value is None and provider is not None and provider not in CHOOSES_MODEL:
            raise PydanticCustomError("missing", "Field required")
        return value

    @field_validator("env")
    @classmethod
    def _no_foreign_keys(cls, value: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        provider = PROVIDERS.get(info.data.get("llm_provider", "auto"))
        if provider is None:  # "auto": any key may turn out to be the one in use
            return value
        embeddings = info.data.get("embeddings")
        other = PROVIDERS.get(getattr(embeddings, "provider", None) or "")
        own = {provider.key_var, other.key_var if other is not None else None}
        for name in sorted(provider_keys() & set(value)):
            if name not in own:
                raise ValueError(f"must not set {name}: it is the key of another provider")
        return value
