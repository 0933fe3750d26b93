"""The environment of a worker: one class writes it in the supervisor and reads it in the worker.

The names are seed 002's. The parent's environment is not inherited: `inherited` picks the few
variables that a process needs, and the supervisor adds the rest (design §2).
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_origin

from pydantic import BaseModel, ConfigDict, Field

from thinker.protocol.providers import PROVIDERS

INHERITED = ("PATH", "HOME", "LANG", "TZ")


class ThinkerSettings(BaseModel):
    """Everything that a worker is told at its start."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    agent_id: str = "thinker"
    llm_provider: str = "demo"
    model: str = "demo"  # read from the provider's own variable, such as GROQ_MODEL
    base_url: str = ""
    fallback_models: tuple[str, ...] = ()
    temperature: float = 0.4  # the default of the system that seed 002 describes
    max_steps: int = 8
    max_tokens_per_turn: int = 0  # 0: no limit
    vision: Literal["auto", "on", "off"] = "auto"
    recent_image_threshold: int = 10
    tool_calls: Literal["native", "text", "auto"] = "auto"
    structured_output: Literal["native", "text", "auto"] = "auto"
    prompt_layout: Literal["system", "cached"] = "system"
    system_prompt_path: Path | None = None
    persona_dir: Path | None = None
    default_system_prompt_path: Path | None = None
    skills_dirs: tuple[Path, ...] = ()
    skills: tuple[str, ...] = ("*",)
    hooks_dir: Path | None = None  # set only when the operator allows hooks
    hooks: tuple[str, ...] = ()
    polling_enabled: bool = False
    send_response_directly: bool = False
    user_timezone: str = "America/New_York"
    peer_fd: int | None = None
    heartbeat_seconds: float = Field(5.0, gt=0)
    log_level: str = "info"

    embeddings_provider: str = ""  # empty with a model: embeddings_base_url, without a key
    embeddings_model: str = ""  # empty: nothing is embedded
    embeddings_base_url: str = ""
    embeddings_dimensions: int = 0  # 0: as many as the model has

    small_model: str = ""  # "model" or "provider/model" for compaction and facts; empty: its own
    compaction_prompt_path: Path | None = None
    fact_extraction_enabled: bool = True
    fact_extraction_idle_ms: int = 300_000
    fact_extraction_max_turns: int = 10
    fact_extraction_prompt_path: Path | None = None

    cost_control_enabled: bool = False
    cost_short_window_minutes: int = 2
    cost_spike_multiplier: float = 3.0
    cost_hard_cap_per_hour: int = 500_000
    cost_min_baseline_tokens: int = 1000
    cost_min_baseline_rate: int = 10_000

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "ThinkerSettings":
        """The settings that ``environ`` (not necessarily this process's own) holds.

        Raises:
            ValueError: a variable has a value of the wrong form; the message names it.
        """
        values: dict[str, object] = {}
        for name, field in cls.model_fields.items():
            text = environ.get(_variable(name))
            if text is not None:
                listed = get_origin(field.annotation) is tuple
                values[name] = _items(name, text) if listed else text
        provider = PROVIDERS.get(environ.get("THINKER_LLM_PROVIDER", "demo"))
        if provider is not None:
            values["model"] = environ.get(provider.model_var, provider.default_model)
        return cls.model_validate(values)

    def to_env(self) -> dict[str, str]:
        """The variables from which `read` builds the same settings."""
        env: dict[str, str] = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if value is None:
                continue
            env[_variable(name, self.llm_provider)] = _text(value)
        return env


def _variable(name: str, llm_provider: str = "") -> str:
    """The variable of a setting; the model's is its provider's own."""
    if name == "model" and llm_provider in PROVIDERS:
        return PROVIDERS[llm_provider].model_var
    return "USER_TIMEZONE" if name == "user_timezone" else f"THINKER_{name.upper()}"


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of the supervisor's environment that a child may see: PATH, HOME, locale, TZ."""
    return {
        key: value for key, value in environ.items() if key in INHERITED or key.startswith("LC_")
    }


def packed(cwd: Path, env: Mapping[str, str]) -> bytes:
    """A working directory and an environment as a forked worker reads them.

    Raises:
        ValueError: a name or value that no environment can hold.
    """
    items = [str(cwd), *(f"{name}={value}" for name, value in env.items())]
    if any("\0" in item for item in items):
        raise ValueError("embedded null byte")
    return b"\0".join(map(os.fsencode, items))


def unpacked(data: bytes) -> tuple[str, dict[str, str]]:
    """What `packed` made one of."""
    cwd, *items = map(os.fsdecode, data.split(b"\0"))
    return cwd, {name: value for name, _, value in (item.partition("=") for item in items)}


def _items(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise ValueError(f"{_variable(name)} is no JSON list: {text}") from None


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return json.dumps([str(item) for item in value])
    return str(value)
