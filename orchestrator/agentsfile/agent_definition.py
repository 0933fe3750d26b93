"""Models of one agent in agents.json."""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeVar

from pydantic import (
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from orchestrator.agentsfile.costs import Budget
from orchestrator.agentsfile.field_types import (
    AgentId,
    ConfigModel,
    HttpUrl,
    OtherModel,
    PlatformId,
    Text,
    Timezone,
    Variables,
)
from orchestrator.agentsfile.media_settings import (
    EmbeddingsModel,
    PictureModel,
    ServedModelSettings,
    Voice,
)
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.provider_names import ProviderName, get_known_providers
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.messages import Effort, WhileBusy
from thinker.protocol.providers import (
    PROVIDERS,
    Provider,
    list_key_variables,
    split_reference,
)

F = TypeVar("F", bound=ConfigModel)
TURN_MINUTES, LOCAL_TURN_MINUTES = 15, 60
CHOOSES_MODEL = frozenset({"auto", "demo"})  # providers that need no model in the file


class CostControls(ConfigModel):
    """When to pause an agent whose token use is unusual."""

    enabled: bool = False
    """Whether unusual token use pauses the agent."""
    short_window_minutes: int = Field(2, ge=1, le=30)
    """Length of the window that is compared with the baseline, in minutes."""
    spike_multiplier: float = Field(3.0, ge=1.5, le=10)
    """How many times the baseline rate the short window may use."""
    hard_cap_tokens_per_hour: int = Field(500_000, ge=10_000)
    """Tokens in any hour that pause the agent whatever the baseline says."""
    minimum_baseline_tokens: int = Field(1000, ge=100)
    """Tokens that must have been used before the detector looks for spikes."""
    minimum_baseline_rate: int = Field(10_000, ge=0)
    """Tokens per minute below which nothing counts as a spike."""
    notify_channel: Text | None = None
    """Channel of the operators' chat, which gets notices about this agent, such as `telegram`."""
    notify_chat_id: PlatformId | None = None
    """Id of the operators' chat; without it only the chat of the message gets notices."""


class Limits(ConfigModel):
    """Hard limits of one agent."""

    max_tokens_per_turn: int = Field(0, ge=0)
    """Tokens that one turn may use; 0 means no limit."""
    turn_minutes: int | None = Field(None, ge=1, le=120)
    """Minutes after which a turn ends; 15, or 60 if its model is local or "auto", when absent."""
    recent_image_threshold: int = Field(10, ge=1, le=50)
    """How many of the newest messages show the model their pictures; others are described."""
    max_concurrent_turns: int = Field(4, ge=1, le=64)
    """Turns of different chats that may run at a time."""


class Compaction(ConfigModel):
    """When the older part of a conversation becomes a summary."""

    enabled: bool = True
    """Whether conversations are summarized; without it the model sees the last 50 messages."""
    threshold_tokens: int = Field(5000, ge=100)
    """Estimated tokens, tool results included, above which a conversation is summarized."""
    keep_turns: int = Field(5, ge=1, le=25)
    """The newest turns, which are kept word for word."""


class FactExtraction(ConfigModel):
    """When and how facts are extracted from quiet conversations."""

    enabled: bool = True
    """Whether conversations are searched for facts."""
    idle_minutes: float = Field(5, gt=0, le=1440)
    """Minutes without a message after which a conversation counts as quiet."""
    max_turns: int = Field(10, ge=2, le=50)
    """Turns in one model call; more turns take several calls."""
    tell: Literal["never", "private", "everywhere"] = "never"
    """Where a chat is told what was remembered: "private" leaves out groups."""


# Fields of agents with the profile "small", unless the file sets them.
SMALL_PROFILE: Mapping[str, object] = {
    "allowed_tools": ("get_time", "schedule_task", "search_memories", "store_fact"),
    "skills": (),
    "fact_extraction": FactExtraction(enabled=False),
    "max_output_tokens": 512,
}


class AgentDefinition(ConfigModel):
    """One agent: its model, prompt, tools and limits."""

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
    description: str = Field("", max_length=1000)
    """The agent's purpose, for MCP clients; by default the description of its prompt definition."""
    llm_provider: ProviderName = "groq"
    """Where the model runs; "auto" takes the first provider with a key or a local server."""
    model: Text | None = Field(None, validate_default=True)
    """The provider's name for the model; required unless llmProvider is "auto" or "demo"."""
    profile: Literal["small"] | None = None
    """"small" for a small model or window: few tools, no skills, no facts, short answers."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Sampling temperature; 0.4 when absent. Models without this parameter do not receive it."""
    max_output_tokens: int | None = Field(None, ge=16, le=1_000_000)
    """Tokens of one answer; the provider's own limit, or 4096 of a local model, when absent."""
    effort: Effort | None = None
    """How much the model reasons: "off", "low", "medium", "high" or tokens; its own when absent."""
    max_steps: int = Field(8, ge=1, le=50)
    """Model calls that the answer to one message may take."""
    system_prompt: str = ""
    """Text of the base prompt; by default that of the persona file, or the default prompt."""
    allowed_tools: tuple[Text, ...] = ()
    """Globs of the tools that the agent may use ("*" is any text); empty allows all."""
    denied_tools: tuple[Text, ...] = ()
    """Globs of the tools that the agent may not use; they win over allowedTools."""
    port: int | None = Field(None, ge=0, le=65535)
    """Port on 127.0.0.1 for clients of the older HTTP interface; 0 picks a free one."""
    idle_timeout_minutes: int = Field(30, ge=1)
    """Minutes without a message after which the agent's process exits; the next starts it."""
    cost_controls: CostControls | None = None
    """When unusual token use pauses the agent; when absent, it never does."""
    budget: Budget | None = None
    """Hard limits in tokens and US dollars; the agent pauses while one is used up."""
    prompt: Text | None = None
    """Name of a prompt definition to use as the base prompt."""
    as_tool: Literal["handoff", "subagent"] = "handoff"
    """As a tool of another agent's prompt: take the chat over, or work as its subagent."""
    base_url: HttpUrl | None = None
    """Address of the provider's API when it is not the usual one."""
    context_tokens: int | None = Field(None, ge=512, le=100_000_000)
    """Tokens that the model reads at once; as its server or the built-in table says when absent."""
    tool_calls: Literal["native", "text", "text-full", "auto"] = "auto"
    """How the model calls tools: "native", "text", "text-full" (longer), or "auto" (if it can)."""
    structured_output: Literal["native", "text", "auto"] = "auto"
    """How an answer's JSON schema is sent: by the API ("native"), in words ("text"), or "auto"."""
    fallback_models: tuple[OtherModel, ...] = ()
    """Models to try in turn when the first fails: "model" or "provider/model"."""
    vision: bool | None = None
    """Whether the model is shown pictures; decided by the model's name when absent."""
    small_model: OtherModel | None = None
    """Model for summaries and facts: "model" or "provider/model"; the agent's own when absent."""
    compaction: Compaction = Compaction()
    """When a long conversation is summarized."""
    fact_extraction: FactExtraction = FactExtraction()
    """How facts about the user are found after a conversation."""
    memory: Literal["agent", "person"] | None = None
    """One memory for all chats ("agent") or one each ("person"); by who may write when absent."""
    embeddings: EmbeddingsModel | None = None
    """Model that finds tools and memories by meaning; when absent, only words decide."""
    voice: Voice | None = None
    """Models that transcribe recordings and speak answers; when absent, the agent does neither."""
    images: PictureModel | None = None
    """Model that draws pictures, as the tool draw_picture; when absent, there is no such tool."""
    skills: tuple[Text, ...] = ("*",)
    """Globs of the skills that the agent may use."""
    allow_hooks: bool = False
    """Whether hooks (Python in `<home>/hooks` or installed packages) run in the agent's process."""
    hooks: tuple[Text, ...] = ()
    """Ids of the hooks to run, in order; hooks of a prompt definition replace them."""
    hook_network: bool = False
    """Whether hooks may open network connections; without it the agent's process has no network."""
    env: Variables = Field(default_factory=dict)
    """Extra environment variables of the agent's process; `${NAME}` is filled in."""
    while_busy: WhileBusy = "queue"
    """A message during an answer: waits ("queue"), joins the turn ("steer"), or ends it."""
    prompt_layout: Literal["system", "cached"] = "system"
    """Changing layers: in the system prompt ("system") or the newest message ("cached")."""
    limits: Limits = Limits()
    """Hard limits of a turn, and of the number of turns at a time."""
    approvals: tuple[Text, ...] = ()
    """Globs of the tools whose every call waits for an operator's approval."""
    provenance: Literal["on", "off"] = "on"
    """Whether text from tools, pages and strangers is tracked, and what it may cause is held."""
    timezone: Timezone | None = None
    """IANA time zone for dates and schedules; USER_TIMEZONE or the machine's when absent."""

    _configured_id: str = PrivateAttr("")
    # A default would be deep-copied for each agent.
    _providers: Mapping[str, Provider] = PrivateAttr(default_factory=lambda: PROVIDERS)

    def model_post_init(self, context: object, /) -> None:
        """Apply the profile; note the id, which a subagent's copy keeps, and the providers."""
        self._configured_id = self.agent_id
        if self.profile == "small":
            missing = SMALL_PROFILE.keys() - self.model_fields_set
            vars(self).update({name: SMALL_PROFILE[name] for name in missing})
        if isinstance(context, Mapping):
            self._providers = context

    @property
    def configured_id(self) -> str:
        """The agent's id in agents.json; a subagent has the id of the agent that it copies."""
        return self._configured_id or self.agent_id

    @property
    def providers(self) -> Mapping[str, Provider]:
        """The providers that the agent can name: all known ones and those of its file."""
        return self._providers

    @property
    def is_local(self) -> bool:
        """Whether the agent's model runs on this machine or its network."""
        known = self._providers.get(self.llm_provider)
        return is_local_address(self.base_url or (known.base_url if known else ""))

    @property
    def turn_minutes(self) -> int:
        """Minutes after which a turn ends."""
        slow = self.is_local or self.llm_provider == "auto"  # which may turn out to be local
        return self.limits.turn_minutes or (LOCAL_TURN_MINUTES if slow else TURN_MINUTES)

    @property
    def served_models(self) -> Iterator[tuple[JsonPath, ServedModelSettings]]:
        """The agent's additional models, each with the path of its field in agents.json."""
        return _list_served_models(self.embeddings, self.voice, self.images)

    def list_called_models(self) -> list[str]:
        """List the models that the agent may call, named as in `thinker.models.choose`."""
        provider = self.llm_provider
        others = (*self.fallback_models, *filter(None, (self.small_model,)))
        named = ("/".join(split_reference(name, provider, self.providers)) for name in others)
        additional = (model.name for _, model in self.served_models)
        return [f"{provider}/{self.model or '*'}", *dict.fromkeys((*named, *additional))]

    def get_fields(self, model: type[F]) -> F:
        """Return the fields of an extension's ``model``; defaults if the file has none."""
        return self if isinstance(self, model) else model()

    @field_validator("model")
    @classmethod
    def _require_known_model(cls, value: str | None, info: ValidationInfo) -> str | None:
        provider = info.data.get("llm_provider")
        own = get_known_providers(info).get(provider or "")
        if own is not None and own.name not in PROVIDERS and own.default_model:
            return value or own.default_model
        if value is None and provider is not None and provider not in CHOOSES_MODEL:
            raise PydanticCustomError("missing", "Field required")
        return value

    @field_validator("env")
    @classmethod
    def _forbid_foreign_keys(cls, value: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        known = get_known_providers(info)
        provider = known.get(info.data.get("llm_provider", "auto"))
        if provider is None:  # "auto": any key may turn out to be the one in use
            return value
        fields = (info.data.get(name) for name in ("embeddings", "voice", "images"))
        others = (known.get(model.provider or "") for _, model in _list_served_models(*fields))
        allowed = {provider.key_var, *(other.key_var for other in others if other is not None)}
        for name in sorted(list_key_variables(known) & set(value)):
            if name not in allowed:
                raise ValueError(f"must not set {name}: it is the key of another provider")
        return value


def _list_served_models(
    embeddings: EmbeddingsModel | None, voice: Voice | None, images: PictureModel | None
) -> Iterator[tuple[JsonPath, ServedModelSettings]]:
    if embeddings is not None:
        yield ("embeddings",), embeddings
    if voice is not None and voice.hear is not None:
        yield ("voice", "hear"), voice.hear
    if voice is not None and voice.speak is not None:
        yield ("voice", "speak"), voice.speak
    if images is not None:
        yield ("images",), images
