"""The environment of a worker, which one class writes in the supervisor and reads in the worker.

A worker does not inherit the supervisor's environment. `select_inherited_variables` selects the few
variables that every process needs, and the supervisor adds the rest.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Literal, get_origin

from pydantic import BaseModel, ConfigDict

from thinker.protocol.chosen_folder import EVERY_SKILL, ChosenFolder
from thinker.protocol.messages import Effort, JsonObject
from thinker.protocol.providers import PROVIDERS, Provider
from thinker.protocol.served_models import DrawingModel, HearingModel, SpeakingModel

BROKER_VARIABLE = "THINKER_BROKER_FD"
PROGRAM_WIRE = 3  # the descriptor of the wire of a program that a zygote forked
ELSEWHERE = "other"  # a server that is no known provider's
INHERITED = ("PATH", "HOME", "LANG", "TZ")
NO_PLUGINS = {"PYDANTIC_DISABLE_PLUGINS": "1"}  # looking for them reads all packages
# Settings that are addresses, keys, places of this machine, or say nothing of a request.
UNRECORDED = (
    "base_url",
    "embeddings_base_url",
    "providers",
    "keys",
    "invalid_keys",
    "system_prompt_path",
    "persona_dir",
    "default_system_prompt_path",
    "skills_dirs",
    "hooks_dir",
    "compaction_prompt_path",
    "fact_extraction_prompt_path",
    "peer_fd",
    "broker_fd",
    "log_level",
    "hear",
    "speak",
    "draw",
)


class ThinkerSettings(BaseModel):
    """All settings of a worker, read once at its start."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    agent_id: str = "thinker"
    """The agent's id."""
    llm_provider: str = "demo"
    """The provider's name."""
    model: str = "demo"
    """The model. Its variable is the provider's own, such as GROQ_MODEL."""
    base_url: str = ""
    """Address of the provider's API; empty: its default."""
    context_tokens: int = 0
    """Tokens that the model reads at once; 0: as its server or the table says."""
    known_windows: tuple[str, ...] = ()
    """Windows that the built-in table knows: `provider/model=tokens`."""
    providers: tuple[Provider, ...] = ()
    """Providers of agents.json that the agent uses, as JSON."""
    fallback_models: tuple[str, ...] = ()
    """Models to try when the first fails: `model` or `provider/model`."""
    temperature: float = 0.4
    """Sampling temperature."""
    effort: Effort | None = None
    """How much the model reasons: `off`, `low`, `medium`, `high` or tokens."""
    max_steps: int = 8
    """Model calls in one turn."""
    max_output_tokens: int = 0
    """Tokens of one answer; 0: the provider's own limit, or 4096 if it is local."""
    max_tokens_per_turn: int = 0
    """Tokens in one turn; 0: no limit."""
    vision: Literal["auto", "on", "off"] = "auto"
    """Whether the model is sent pictures; `auto`: by its name."""
    recent_image_threshold: int = 10
    """How many of the newest messages keep their pictures."""
    tool_calls: Literal["native", "text", "text-full", "auto"] = "auto"
    """How the model calls tools."""
    structured_output: Literal["native", "text", "auto"] = "auto"
    """How an answer's JSON schema is sent."""
    prompt_layout: Literal["system", "cached"] = "system"
    """Where the changing layers of the prompt go."""
    system_prompt_path: Path | None = None
    """File with the agent's `systemPrompt`."""
    persona_dir: Path | None = None
    """Directory with `<agentId>/instructions.md`."""
    default_system_prompt_path: Path | None = None
    """File with the base prompt of agents without their own."""
    skills_dirs: tuple[Path, ...] = ()
    """Directories with skills; later ones win."""
    skills: tuple[str, ...] = ("*",)
    """Globs of the skills that the agent may use."""
    hooks_dir: Path | None = None
    """Directory with hooks; set only when the operator allows hooks."""
    hooks: tuple[str, ...] = ()
    """Ids of the hooks to run."""
    polling_enabled: bool = False
    """Always false: channels belong to the supervisor."""
    send_response_directly: bool = False
    """Always false: replies go through the outbox."""
    user_timezone: str = "America/New_York"
    """IANA time zone of dates in the prompt."""
    peer_fd: int | None = None
    """File descriptor of the socket to the supervisor; if absent, standard input is read."""
    broker_fd: int | None = None
    """File descriptor of the channel to the broker; if absent, providers are called directly."""
    keys: tuple[str, ...] = ()
    """Names of the provider keys that the broker has for the agent."""
    invalid_keys: tuple[str, ...] = ()
    """Names of provider keys that no request can carry."""
    log_level: str = "info"
    """Lowest level of log lines."""
    sandbox: Literal["on", "hook-network", "off"] = "on"
    """The jail of a worker with a supervisor; `hook-network` leaves TCP and UDP open."""

    embeddings_provider: str = ""
    """Provider of the embeddings model; empty: `THINKER_EMBEDDINGS_BASE_URL`, without a key."""
    embeddings_model: str = ""
    """The embeddings model; empty: tools and memories are found only by words."""
    embeddings_base_url: str = ""
    """Address of the embeddings API; empty: the provider's default."""
    embeddings_dimensions: int = 0
    """Length of the vectors; 0: the model's own."""

    hear: HearingModel | None = None
    """The model that turns recordings into text, as JSON."""
    speak: SpeakingModel | None = None
    """The model that speaks, as JSON."""
    draw: DrawingModel | None = None
    """The model that draws pictures, as JSON."""

    small_model: str = ""
    """Model for summaries and facts: `model` or `provider/model`; empty: the agent's own."""
    compaction_prompt_path: Path | None = None
    """File with the prompt for summaries."""
    fact_extraction_enabled: bool = True
    """Whether facts are extracted from conversations."""
    fact_extraction_idle_ms: int = 300_000
    """Milliseconds without a message before facts are extracted."""
    fact_extraction_max_turns: int = 10
    """Most turns in one extraction of facts."""
    fact_extraction_prompt_path: Path | None = None
    """File with the prompt for facts."""

    receipts: Literal["on", "mark", "off"] = "off"
    """`on`: an answer that claims what no call did goes back to the model once."""

    cost_control_enabled: bool = False
    """Whether unusual token use pauses the agent."""
    cost_short_window_minutes: int = 2
    """Minutes of the window that is compared with the baseline."""
    cost_spike_multiplier: float = 3.0
    """How many times the baseline rate the short window may use."""
    cost_hard_cap_per_hour: int = 500_000
    """Tokens in an hour that pause the agent in any case."""
    cost_min_baseline_tokens: int = 1000
    """Tokens that must have been used before spikes count."""
    cost_min_baseline_rate: int = 10_000
    """Tokens a minute below which nothing is a spike."""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "ThinkerSettings":
        """Read the settings from ``environ``, which need not be this process's environment.

        Raises:
            ValueError: a variable has an invalid value; the message names the variable.
        """
        values: dict[str, object] = {}
        for name, field in cls.model_fields.items():
            text = environ.get(format_variable_name(name))
            if text is not None:
                listed = get_origin(field.annotation) is tuple
                values[name] = _parse_list(name, text) if listed else text
        provider = PROVIDERS.get(environ.get("THINKER_LLM_PROVIDER", "demo"))
        if provider is not None:
            values["model"] = environ.get(provider.model_var, provider.default_model)
        return cls.model_validate(values)

    def dump_for_record(self) -> JsonObject:
        """Return the settings that decide what a model is sent, without addresses and keys.

        Whether hooks may run is added, as they may change anything, and whose server answers
        instead of the provider's own, as far as that is known.
        """
        found: JsonObject = self.model_dump(
            mode="json", exclude_defaults=True, exclude={*UNRECORDED}
        )
        if self.hooks_dir is not None:
            found["allow_hooks"] = True
        if self.base_url:
            url = self.base_url.rstrip("/")
            names = (one.name for one in PROVIDERS.values() if one.base_url == url)
            found["elsewhere"] = next(names, ELSEWHERE)
        return found

    def list_own_paths(self) -> list[Path]:
        """Return the files and folders that this worker reads, besides its code."""
        persona = self.persona_dir and self.persona_dir / self.agent_id
        single = (
            self.system_prompt_path,
            persona,
            self.default_system_prompt_path,
            self.hooks_dir,
            self.compaction_prompt_path,
            self.fact_extraction_prompt_path,
        )
        whole = self.skills_dirs if EVERY_SKILL in self.skills else ()
        return [*(path for path in single if path is not None), *whole]

    def list_chosen_folders(self) -> list[ChosenFolder]:
        """Return the folders of which this worker reads only the skills that its globs admit."""
        if EVERY_SKILL in self.skills or not self.skills:
            return []
        return [ChosenFolder(path, self.skills) for path in self.skills_dirs]

    def to_env(self) -> dict[str, str]:
        """Return the variables from which `read` builds equal settings."""
        settings = ((format_variable_name(name, self.llm_provider), value) for name, value in self)
        return {name: _format_variable(value) for name, value in settings if value is not None}


def format_variable_name(name: str, llm_provider: str = "") -> str:
    """Return the variable of a setting; the model's variable depends on the provider."""
    if name == "model" and llm_provider in PROVIDERS:
        return PROVIDERS[llm_provider].model_var
    return "USER_TIMEZONE" if name == "user_timezone" else f"THINKER_{name.upper()}"


def select_inherited_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a child inherits: PATH, HOME, LANG, TZ and ``LC_*``."""
    return {
        key: value for key, value in environ.items() if key in INHERITED or key.startswith("LC_")
    }


def pack_start(cwd: Path, env: Mapping[str, str]) -> bytes:
    """Encode a working directory and an environment for a forked process.

    Raises:
        ValueError: a name or value contains a NUL, which no environment can hold.
    """
    items = [str(cwd), *(f"{name}={value}" for name, value in env.items())]
    if any("\0" in item for item in items):
        raise ValueError("embedded null byte")
    return b"\0".join(map(os.fsencode, items))


def unpack_start(data: bytes) -> tuple[str, dict[str, str]]:
    """Decode the working directory and environment that `pack_start` encoded."""
    cwd, *items = map(os.fsdecode, data.split(b"\0"))
    return cwd, {name: value for name, _, value in (item.partition("=") for item in items)}


def _parse_list(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise ValueError(f"{format_variable_name(name)} is not a JSON list: {text}") from None


def _format_variable(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        plain = (asdict(item) if isinstance(item, Provider) else str(item) for item in value)
        return json.dumps(list(plain))
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return str(value)
