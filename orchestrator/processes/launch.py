"""Turn an agent definition into a launch spec: prompt file, environment, argv. Starts nothing.

The worker's environment holds a few inherited variables, the ``THINKER_*`` settings and the agent's
own ``env``, and nothing more. Keys go only to the broker: the worker is told their names.

Where: are an agent's environment and prompt file made?
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from orchestrator.agentsfile import AgentDefinition
from orchestrator.agentsfile.agent_definition import CostControls
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.agentsfile.media_settings import Voice
from orchestrator.agentsfile.model_costs import list_known_windows, list_models
from orchestrator.broker.broker_wire import Grant
from orchestrator.files import write_private
from orchestrator.home_paths import find_bundled_path
from orchestrator.processes.model_grants import ModelRights, build_rights
from orchestrator.settings import (
    COMPACTION,
    DEFAULT_PROMPT,
    FACT_EXTRACTION,
    SMALL_PROMPT,
    TEMPLATES,
    Settings,
)
from orchestrator.timezones import find_host_timezone
from thinker.protocol.env import ThinkerSettings, select_inherited_variables
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import TurnRun
from thinker.protocol.providers import PROVIDERS, Provider, list_key_variables

WORKER = (sys.executable, "-P", "-m", "thinker")
DEFAULT_TEMPERATURE = 0.4  # of agents that set none
# Fields that a definition and the worker's settings share.
SHARED = {"agent_id", "effort", "fallback_models", "hooks", "max_steps", "prompt_layout", "skills"}
SHARED |= {"receipts", "structured_output", "tool_calls"}


@dataclass(frozen=True)
class Endpoint:
    """The provider and model of an agent, with ``auto`` resolved."""

    provider: str
    model: str
    base_url: str = ""


@dataclass(frozen=True)
class LaunchSpec:
    """Everything needed to start a worker.

    ``variables`` are set in its environment besides its ``settings``. ``prompt`` is the text of
    its prompt file; None means that it has none. ``rights`` are for the broker: the addresses of
    its providers, and their keys. ``parent`` is set for a subagent: the agent that it works for.
    ``sandbox`` says whether it may run without its jail. ``own`` is the endpoint of agents.json, if
    the agent's prompt names another model.
    """

    agent_id: str
    variables: Mapping[str, str]
    settings: ThinkerSettings
    cwd: Path
    endpoint: Endpoint
    prompt_path: Path
    prompt: str | None
    rights: ModelRights | None = None
    parent: str | None = None
    argv: tuple[str, ...] = WORKER
    sandbox: SandboxMode = "auto"
    own: Endpoint | None = None

    @cached_property
    def recorded_settings(self) -> JsonObject:
        """The worker's settings as the journal keeps them with its prompts."""
        return self.settings.dump_for_record()

    def describe_run(self, run: TurnRun, provenance: str) -> JsonObject:
        """Return the settings with which a worker runs a turn, as the journal keeps them."""
        more: JsonObject = {"provenance": provenance, "turn": run.dump_for_record()}
        return {**self.recorded_settings, **more}

    @property
    def grants(self) -> tuple[Grant, ...]:
        """The addresses that the worker may post to, made anew each time."""
        return () if self.rights is None else self.rights.build_grants()

    @property
    def env(self) -> dict[str, str]:
        """The worker's environment."""
        return {**self.variables, **self.settings.to_env()}


def resolve_endpoint(
    definition: AgentDefinition, environ: Mapping[str, str], local: tuple[Endpoint, ...]
) -> Endpoint:
    """Return an agent's endpoint.

    ``auto`` selects the first provider with a key, otherwise a local server, otherwise ``demo``.
    ``local`` are the model servers that listen on this machine (Ollama, LM Studio).
    """
    if definition.llm_provider != "auto":
        model = definition.model or definition.providers[definition.llm_provider].default_model
        return Endpoint(definition.llm_provider, model, definition.base_url or "")
    for provider in definition.providers.values():
        key = provider.key_var if definition.model or provider.default_model else None
        if key is not None and provider.base_url and (definition.env.get(key) or environ.get(key)):
            return Endpoint(provider.name, definition.model or provider.default_model)
    if local:
        return replace(local[0], model=definition.model or local[0].model)
    return Endpoint("demo", PROVIDERS["demo"].default_model)


def build_launch_spec(
    definition: AgentDefinition,
    settings: Settings,
    endpoint: Endpoint,
    environ: Mapping[str, str],
    templates: Mapping[str, Path] = MappingProxyType({}),
    sandbox: SandboxMode = "auto",
    own: Endpoint | None = None,
) -> LaunchSpec:
    """Return the launch spec of an agent; the ``templates`` given by name replace bundled ones."""
    texts = {name: find_bundled_path(f"prompts/{name}") for name in TEMPLATES} | dict(templates)
    paths = settings.paths
    prompt_path = paths.agent_prompts / f"{definition.agent_id}.txt"
    prompt, embeddings = definition.system_prompt or None, definition.embeddings or ()
    voice = definition.voice or Voice()
    thinker = ThinkerSettings.model_validate(
        {
            **definition.model_dump(include=SHARED),
            "llm_provider": endpoint.provider,
            "model": endpoint.model,
            "base_url": endpoint.base_url,
            "providers": _list_own_providers(definition, endpoint),
            "temperature": DEFAULT_TEMPERATURE
            if definition.temperature is None
            else definition.temperature,
            "context_tokens": definition.context_tokens or 0,
            "known_windows": list_known_windows(definition, endpoint.model),
            "max_output_tokens": definition.max_output_tokens or 0,
            "max_tokens_per_turn": definition.limits.max_tokens_per_turn,
            "vision": {None: "auto", True: "on", False: "off"}[definition.vision],
            "recent_image_threshold": definition.limits.recent_image_threshold,
            "system_prompt_path": None if prompt is None else prompt_path,
            "persona_dir": settings.personas,
            "default_system_prompt_path": settings.default_system_prompt_path
            or texts[SMALL_PROMPT if definition.profile else DEFAULT_PROMPT],
            "small_model": definition.small_model or "",
            "compaction_prompt_path": texts[COMPACTION],
            "fact_extraction_enabled": definition.fact_extraction.enabled,
            "fact_extraction_idle_ms": round(definition.fact_extraction.idle_minutes * 60_000),
            "fact_extraction_max_turns": definition.fact_extraction.max_turns,
            "fact_extraction_prompt_path": settings.fact_extraction_prompt_path
            or texts[FACT_EXTRACTION],
            "skills_dirs": paths.list_skill_directories(definition.agent_id),
            "hooks_dir": paths.hooks if definition.allow_hooks else None,
            "sandbox": _choose_jail_setting(definition, sandbox),
            "user_timezone": definition.timezone or find_host_timezone(environ),
            "log_level": settings.log_level,
            **_build_cost_settings(definition.cost_controls),
            **{f"embeddings_{name}": value for name, value in embeddings if value is not None},
            **{
                name: model.model_dump(exclude_none=True)
                for name, model in (
                    ("hear", voice.hear),
                    ("speak", voice.speak),
                    ("draw", definition.images),
                )
                if model is not None
            },
        }
    )
    rights = build_rights(thinker, {**environ, **definition.env})
    secret = list_key_variables(definition.providers)
    others = {name: value for name, value in definition.env.items() if name not in secret}
    return LaunchSpec(
        agent_id=definition.agent_id,
        variables={**select_inherited_variables(environ), **others},
        settings=rights.settings,
        cwd=settings.home,
        endpoint=endpoint,
        prompt_path=prompt_path,
        prompt=prompt,
        sandbox=sandbox,
        rights=rights,
        own=own,
    )


def select_environment(
    environ: Mapping[str, str], providers: Mapping[str, Provider] = PROVIDERS
) -> dict[str, str]:
    """Select the variables that launch specs need from the daemon's environment."""
    keys = {name: environ[name] for name in list_key_variables(providers) if name in environ}
    return {
        **select_inherited_variables(environ),
        **keys,
        "USER_TIMEZONE": find_host_timezone(environ),
    }


def _list_own_providers(definition: AgentDefinition, endpoint: Endpoint) -> tuple[Provider, ...]:
    """Return the providers of agents.json that the agent uses."""
    names = [endpoint.provider, *(name.partition("/")[0] for name in list_models(definition))]
    found = (definition.providers.get(name) for name in dict.fromkeys(names))
    return tuple(p for p in found if p is not None and p is not PROVIDERS.get(p.name))


def write_prompt(spec: LaunchSpec) -> None:
    """Write the agent's prompt file (mode 0600), or remove it if the agent has no prompt."""
    if spec.prompt is None:
        spec.prompt_path.unlink(missing_ok=True)
    else:
        write_private(spec.prompt_path, spec.prompt.encode("utf-8", "replace"))


def _choose_jail_setting(definition: AgentDefinition, sandbox: SandboxMode) -> str:
    """Return the worker's jail setting; only permitted hooks may use a network."""
    if sandbox == "off":
        return "off"
    return "hook-network" if definition.hook_network and definition.allow_hooks else "on"


def _build_cost_settings(controls: CostControls | None) -> dict[str, float]:
    if controls is None:
        return {}
    return {
        "cost_control_enabled": controls.enabled,
        "cost_short_window_minutes": controls.short_window_minutes,
        "cost_spike_multiplier": controls.spike_multiplier,
        "cost_hard_cap_per_hour": controls.hard_cap_tokens_per_hour,
        "cost_min_baseline_tokens": controls.minimum_baseline_tokens,
        "cost_min_baseline_rate": controls.minimum_baseline_rate,
    }
