"""Try models as agents use them: by a jailed worker, through a broker with the keys."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

import anyio
from pydantic import ValidationError

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.agentsfile.known_models import find_known_model
from orchestrator.agentsfile.model_costs import list_models
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ConfigError, UnknownNameError, WorkerError
from orchestrator.extensions.setup.ability_trials import try_window
from orchestrator.extensions.setup.model_account import ModelAccount, find_account
from orchestrator.extensions.setup.trial_requests import (
    MODEL_TRY,
    TRIALS,
    ModelTrialRequest,
    ModelTrialResult,
    Trial,
)
from orchestrator.processes import launch
from orchestrator.processes.launch import LaunchSpec, resolve_endpoint
from orchestrator.processes.local_models import find_local_servers
from orchestrator.processes.model_broker import ModelBroker
from orchestrator.processes.worker import Worker, run_worker
from orchestrator.settings import Settings
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.model_endpoints import PLAIN, find_call_seconds
from thinker.protocol.peer import PeerClosedError, RpcError
from thinker.protocol.providers import Ability, Provider

TrialState: TypeAlias = Literal["works", "failed", "adapted", "skipped"]
KEY_MISSING = "{key} is not set; add it to keys.env in the daemon's home, or run orchestrator setup"
# The ability that a provider needs for a trial, and what agents do without it.
NEEDED: Mapping[Trial, tuple[Ability, ...]] = {
    "tools": ("tools",),
    "images": ("images",),
    "schema": ("schema", "json"),
}
WITHOUT: Mapping[Trial, str] = {
    "tools": "the provider has no tool calls; agents write their calls as text",
    "images": "the provider's models see no pictures; agents read descriptions of them",
    "schema": "the provider enforces no form of answers; the prompt describes it",
}
REMEDIES: Mapping[Trial, str] = {
    "tools": 'agents with "toolCalls": "auto" or "text" write their calls as text',
    "images": 'set "vision": false, so that pictures are described at once',
    "schema": 'agents with "structuredOutput": "auto" or "text" describe the form in words',
}
OTHER_WORK = "hearing, speaking and drawing are not tried"
EMBEDDING = "embed"  # in the names of models for media only


class AbilityResult(CamelModel):
    """The result of one trial, with the reason, advice or a note.

    ``adapted``: the provider lacks it, and agents use another way.
    """

    name: Trial
    state: TrialState
    text: str = ""


class ModelResult(CamelModel):
    """The trials of one ``provider/model``, used by ``agents``; None is unknown.

    ``window`` is what the model reads at once, in tokens. The speeds are measured with one short
    call: tokens read before the first word, and written after it.
    """

    id: str
    agents: tuple[str, ...]
    trials: tuple[AbilityResult, ...]
    tokens: int = 0
    window: int | None = None
    tokens_in_a_second: float | None = None
    tokens_out_a_second: float | None = None
    tools: Literal["native", "text"] | None = None
    pictures: bool | None = None


class TrialsReport(CamelModel):
    """The output of ``models test --json``."""

    models: tuple[ModelResult, ...]


@dataclass(frozen=True)
class Candidate:
    """A model to try, as the agent calls it."""

    id: str
    definition: AgentDefinition
    agents: tuple[str, ...] = ()
    embeddings: bool = False
    media: bool = False
    """Whether the model only hears, speaks or draws."""


async def run_model_trials(
    settings: Settings, file: AgentsFile, environ: Mapping[str, str], what: str
) -> tuple[ModelResult, ...]:
    """Try the chosen models, one after another; see the command's help.

    Raises:
        UnknownNameError: the name is unknown.
        ConfigError: the provider has no model to try, or no address.
    """
    automatic = any(agent.llm_provider == "auto" for agent in file.agents)
    local = await find_local_servers() if automatic else ()
    chosen = list(_list_candidates(file, environ, local, what))
    broker = ModelBroker(settings.model_copy(update={"log_level": "error"}), environ)
    with TemporaryDirectory(prefix="orchestrator-") as folder:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(broker.run)
            found = [
                await _try_candidate(settings, broker, environ, one, Path(folder)) for one in chosen
            ]
            tasks.cancel_scope.cancel()
    return tuple(found)


def _list_candidates(
    file: AgentsFile, environ: Mapping[str, str], local: tuple[launch.Endpoint, ...], what: str
) -> Iterator[Candidate]:
    """Yield each model once, with all agents that use it."""
    named = file.find_agent(what)
    agents = [named] if named else [] if what else [a for a in file.agents if a.enabled]
    if not agents:
        yield _find_candidate(file, what)
        return
    found: dict[tuple[str, str], Candidate] = {}
    for agent in agents:
        for one in _list_agent_candidates(agent, environ, local):
            place = (one.id, str(one.definition.base_url or ""))
            there = found.get(place, replace(one, agents=()))
            found[place] = replace(there, agents=(*there.agents, agent.agent_id))
    yield from found.values()


def _list_agent_candidates(
    agent: AgentDefinition, environ: Mapping[str, str], local: tuple[launch.Endpoint, ...]
) -> Iterator[Candidate]:
    end = resolve_endpoint(agent, environ, local)
    own = agent.model_copy(
        update={
            "llm_provider": end.provider,
            "model": end.model,
            "fallback_models": (),
            "small_model": None,
            "allow_hooks": False,
        }
    )
    yield Candidate(f"{end.provider}/{end.model}", own)
    demo = own.model_copy(update={"llm_provider": "demo", "model": None, "base_url": None})
    beside = {model.name for _, model in agent.served_models}
    for reference in list_models(agent)[1:]:
        provider, _, model = reference.partition("/")
        if reference in beside:  # tried or not, this model needs no key of the agent's own model
            embeddings = agent.embeddings is not None and reference == agent.embeddings.name
            yield Candidate(reference, demo, embeddings=embeddings, media=not embeddings)
            continue
        changes = {"llm_provider": provider, "model": model}
        if provider != end.provider:
            changes["base_url"] = ""
        yield Candidate(reference, own.model_copy(update=changes))


def _find_candidate(file: AgentsFile, what: str) -> Candidate:
    """Return the model called ``provider/model``, or a provider's default one."""
    name, slash, model = what.partition("/")
    try:
        found = find_account(name, known=file.known_providers).provider
    except ConfigError:
        names = [agent.agent_id for agent in file.agents]
        advice = suggest_name(
            what, [*names, *file.known_providers], "see: orchestrator models --all"
        )
        raise UnknownNameError(f"no agent and no provider is called {what!r}{advice}") from None
    model = model if slash else found.default_model
    if not model or (not found.base_url and found.wire != "demo"):
        lack = f"name a model: {found.name}/MODEL" if not model else "set its baseUrl in providers"
        raise ConfigError(f"{found.name} cannot be tested so; {lack}")
    embeds = EMBEDDING in model.lower() and "embeddings" in found.can
    fields = {"agentId": "trial", "llmProvider": found.name, "model": model}
    if embeds:
        fields["embeddings"] = {"provider": found.name, "model": model}  # type: ignore[assignment]
    definition = AgentDefinition.model_validate(fields, context=file.known_providers)
    return Candidate(f"{found.name}/{model}", definition, embeddings=embeds)


async def _try_candidate(
    settings: Settings,
    broker: ModelBroker,
    environ: Mapping[str, str],
    one: Candidate,
    folder: Path,
) -> ModelResult:
    """Try every ability of a model, in a separate worker."""
    if one.media:
        skipped = AbilityResult(name="chat", state="skipped", text=OTHER_WORK)
        return ModelResult(id=one.id, agents=one.agents, trials=(skipped,))
    names: tuple[Trial, ...] = ("embeddings",) if one.embeddings else TRIALS[:-1]
    provider = one.definition.providers.get(one.id.partition("/")[0], PLAIN)
    missing = _describe_missing_key(one, provider, environ)
    if missing:
        first = AbilityResult(name=names[0], state="failed", text=missing)
        return ModelResult(id=one.id, agents=one.agents, trials=(first,))
    spec = _build_spec(settings, one.definition, environ, folder)
    tokens, trials, measured = 0, list[AbilityResult](), dict[str, float]()
    try:
        with broker.open_channel(spec.agent_id, spec.grants) as channel:
            async with run_worker(spec, channel=channel) as worker:
                for name in names:
                    trial, found = await _run_trial(worker, provider, name)
                    trials.append(trial)
                    if found is not None:
                        tokens += found.usage.total
                        measured |= _measure_speed(found)
                    if name == "chat" and trial.state == "failed":
                        break  # nothing else can work
    except WorkerError as error:
        trials.append(AbilityResult(name=names[0], state="failed", text=str(error)))
    states = {trial.name: trial.state for trial in trials}
    return ModelResult(
        id=one.id,
        agents=one.agents,
        trials=tuple(trials),
        tokens=tokens,
        window=await _find_window(one, provider, spec.endpoint),
        tools=None if "tools" not in states else "native" if states["tools"] == "works" else "text",
        pictures=None if "images" not in states else states["images"] == "works",
        tokens_in_a_second=measured.get("in"),
        tokens_out_a_second=measured.get("out"),
    )


async def _find_window(one: Candidate, provider: Provider, end: launch.Endpoint) -> int | None:
    """Return the window as a local server states it, or as it is known of the model."""
    url = str(one.definition.base_url or "") or provider.base_url
    if is_local_address(url):
        return await try_window(ModelAccount(provider.name, provider, url), end.model)
    found = find_known_model(provider.name, end.model, str(one.definition.base_url or ""))
    return None if found is None else found.context_window


def _measure_speed(found: ModelTrialResult) -> dict[str, float]:
    """Return the speeds that a streamed answer shows, in tokens a second."""
    usage, speeds = found.usage, dict[str, float]()
    if found.before and usage.prompt > usage.cached:
        speeds["in"] = round((usage.prompt - usage.cached) / found.before, 1)
    if found.rest and usage.completion > 1:
        speeds["out"] = round((usage.completion - 1) / found.rest, 1)
    return speeds


def _describe_missing_key(one: Candidate, provider: Provider, environ: Mapping[str, str]) -> str:
    own = one.definition.embeddings if one.embeddings else one.definition
    elsewhere = own is not None and own.base_url and provider.base_url
    key = provider.key_var
    set_there = key is None or environ.get(key) or one.definition.env.get(key)
    return "" if elsewhere or set_there else KEY_MISSING.format(key=key)


def _build_spec(
    settings: Settings, definition: AgentDefinition, environ: Mapping[str, str], folder: Path
) -> LaunchSpec:
    quiet = settings.model_copy(update={"log_level": "error"})
    endpoint = resolve_endpoint(definition, environ, ())
    spec = launch.build_launch_spec(definition, quiet, endpoint, environ)
    own = spec.settings.model_copy(update={"system_prompt_path": None})
    return replace(spec, settings=own, prompt=None, cwd=folder)


async def _run_trial(
    worker: Worker, provider: Provider, name: Trial
) -> tuple[AbilityResult, ModelTrialResult | None]:
    """Make one trial's call; return its result, and what the worker says if it was asked."""
    needed = NEEDED.get(name, ())
    if needed and not {*needed} & {*provider.can}:
        return AbilityResult(name=name, state="adapted", text=WITHOUT[name]), None
    if provider.wire == "demo" and name != "chat":
        return AbilityResult(name=name, state="skipped"), None
    seconds = find_call_seconds(worker.spec.settings)
    try:
        asked = ModelTrialRequest(trial=name)
        found = await worker.peer.call(MODEL_TRY, asked, ModelTrialResult, timeout=seconds)
    except TimeoutError:
        limit = f"no answer within {seconds:g} seconds"
        text = f"{limit}; is the server busy, or loading the model?"
        return AbilityResult(name=name, state="failed", text=text), None
    except (PeerClosedError, RpcError, ValidationError) as error:
        raise WorkerError(f"the worker failed: {error}") from error
    if not found.problem:
        return AbilityResult(name=name, state="works", text=found.note), found
    text = "; ".join(filter(None, (found.problem, REMEDIES.get(name))))
    return AbilityResult(name=name, state="failed", text=text), found
