"""Start workers for trials: jailed as the agent's own, with recorded settings and without hooks.

Addresses and keys come from the agents.json in force and never from a record: an old address must
not get today's key. A worker may call the provider of the model that is tried and no other.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup, TaskStatus

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.errors import ConfigError
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.files import OffLoop, run_off_loop
from orchestrator.processes import launch
from orchestrator.processes.child_process import Spawn, execute_program
from orchestrator.processes.launch import Endpoint, LaunchSpec
from orchestrator.processes.model_broker import ModelBroker
from orchestrator.processes.worker import Worker, run_worker
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.settings import Settings
from thinker.protocol.env import UNRECORDED, ThinkerSettings
from thinker.protocol.prompt_record import TOOL_BLOCK
from thinker.protocol.providers import PROVIDERS, list_key_variables

NICE = 10  # a trial gives way to live agents
NOWHERE = "http://127.0.0.1:9/v1"  # the address of a provider that is not called
# What a worker of a trial does not need, or gets from the file in force.
DROPPED = frozenset({"fallback_models", "small_model", "hooks", "llm_provider", "model"})
SKILLS, PERSONAS = "skills/", "personas/"  # how the names of such files begin, as in editors


@dataclass(frozen=True, kw_only=True)
class TrialHome:
    """A home as trials use it: its settings, keys, agents.json and prompts.

    These are in force, or under trial; ``before`` is the file in force if another is tried.
    """

    settings: Settings
    environ: Mapping[str, str]
    agents: AgentsFile
    prompts: PromptSet
    before: AgentsFile | None = None

    def list_edits(self, agent_id: str) -> dict[str, object]:
        """Return the settings of an agent's worker that the file under trial changes."""
        files = [] if self.before is None else [self.before, self.agents]
        found = [agent for file in files if (agent := file.find_agent(agent_id)) is not None]
        if len(found) < len((self.before, self.agents)):
            return {}
        old, new = (
            launch.build_launch_spec(
                agent,
                self.settings,
                launch.resolve_endpoint(agent, self.environ, ()),
                self.environ,
            ).settings
            for agent in found
        )
        return {
            name: value
            for name, value in new
            if name not in UNRECORDED and name not in DROPPED and value != getattr(old, name)
        }


@dataclass(frozen=True, kw_only=True)
class ModelOnTrial:
    """The model of a trial, as ``provider/name``, and whether it is called or only rehearsed."""

    name: str
    called: bool = False


def build_trial_spec(
    home: TrialHome,
    part: RecordedPart,
    model: ModelOnTrial,
    folder: Path,
    files: Mapping[str, str] | None = None,
) -> LaunchSpec:
    """Return the spec of a worker that makes the requests of a recorded part.

    ``files`` are changed texts by their names; `write_trial_files` writes them into ``folder``.

    Raises:
        ConfigError: agents.json does not know the model's provider.
    """
    provider, _, name = model.name.partition("/")
    if provider not in home.agents.known_providers:
        raise ConfigError(f"the provider {provider!r} is gone; add it to agents.json")
    own = _build_definition(home, part, provider, name)
    environ = dict(home.environ)
    if not model.called:
        environ |= dict.fromkeys(list_key_variables(own.providers), "none-needed")
    quiet = home.settings.model_copy(update={"log_level": "error"})
    url = str(own.base_url or "")
    if not model.called:
        url = _restore_address(url, part, provider)
    spec = launch.build_launch_spec(
        own,
        quiet,
        Endpoint(provider, name, url),
        environ,
        home.prompts.templates,
        home.agents.sandbox,
    )
    settings = _restore_settings(spec.settings, part, home.list_edits(part.agent_id))
    settings = _add_changed_paths(settings, part, folder, files or {})
    prompt_path = folder / "system-prompt.txt"
    if spec.prompt is not None:
        settings = settings.model_copy(update={"system_prompt_path": prompt_path})
    rights = spec.rights if model.called else None
    return replace(spec, settings=settings, prompt_path=prompt_path, cwd=folder, rights=rights)


def _build_definition(
    home: TrialHome, part: RecordedPart, provider: str, name: str
) -> AgentDefinition:
    """Return the agent as it is now, with this model alone."""
    found = home.agents.find_agent(part.agent_id)
    if found is None:
        fields = {"agentId": "trial", "llmProvider": "demo"}
        found = AgentDefinition.model_validate(fields, context=home.agents.known_providers)
    found = home.prompts.apply_prompt_model(found, home.agents)
    references = (
        one.base_url
        for one in home.agents.models.values()
        if (one.provider, one.model) == (provider, name)
    )
    url = found.base_url if found.llm_provider == provider else next(references, None)
    alone: dict[str, object] = {
        "fallback_models": (),
        "small_model": None,
        "embeddings": None,
        "voice": None,
    }
    unhooked: dict[str, object] = {"images": None, "allow_hooks": False, "hooks": (), "env": {}}
    own = {"llm_provider": provider, "model": name, "base_url": url, "agent_id": part.agent_id}
    keys = {key: value for key, value in found.env.items() if key in list_key_variables()}
    return found.model_copy(update={**alone, **unhooked, **own, "env": keys})


def _restore_address(url: str, part: RecordedPart, provider: str) -> str:
    """Return an address, not to be called, whose server has the rules of the recorded one."""
    there = part.settings.get("elsewhere")
    if provider != part.settings.get("llm_provider") or bool(url) is bool(there):
        return url
    if there is None:
        return ""
    known = PROVIDERS.get(str(there))
    return NOWHERE if known is None else known.base_url


def _restore_settings(
    now: ThinkerSettings, part: RecordedPart, edits: Mapping[str, object]
) -> ThinkerSettings:
    """Return recorded settings, with addresses, keys and paths as they are ``now``."""
    recorded: dict[str, object] = {
        name: value
        for name, value in part.settings.items()
        if name in ThinkerSettings.model_fields
        and name not in DROPPED
        and not name.startswith("embeddings_")
    }
    model = part.settings.get("llm_provider"), part.settings.get("model")
    is_recorded = model == (now.llm_provider, now.model)
    if not is_recorded:
        recorded |= {"context_tokens": 0, "known_windows": now.known_windows}
    kept = {name: getattr(now, name) for name in (*UNRECORDED, "llm_provider", "model", "sandbox")}
    found = ThinkerSettings.model_validate({**recorded, **edits, **kept})
    if (
        is_recorded
        and found.tool_calls == "auto"
        and any(one.name == TOOL_BLOCK for one in part.record.layers)
    ):
        found = found.model_copy(update={"tool_calls": "text"})
    return found


def _add_changed_paths(
    settings: ThinkerSettings, part: RecordedPart, folder: Path, files: Mapping[str, str]
) -> ThinkerSettings:
    """Return the settings with which the worker reads the changed files, too."""
    own = f"{PERSONAS}{part.agent_id}/"
    more = [folder / "skills"] if any(name.startswith(SKILLS) for name in files) else []
    if any(name.startswith(f"{own}{SKILLS}") for name in files):
        more.append(folder / own / "skills")
    found: dict[str, object] = {"skills_dirs": (*settings.skills_dirs, *more)}
    if f"{own}instructions.md" in files:
        found["persona_dir"] = folder / PERSONAS
    return settings.model_copy(update=found)


def write_trial_files(folder: Path, spec: LaunchSpec, files: Mapping[str, str]) -> None:
    """Write what a trial's worker reads, all of it below a private folder."""
    write_changed_files(folder, files)
    launch.write_prompt(spec)


def write_changed_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write changed files below a private folder, by the names that editors use."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@dataclass(frozen=True, kw_only=True)
class WorkerMeans:
    """What workers of a trial are started with.

    ``folder`` is private; ``files`` are written into it. Without a ``broker`` they call no model.
    """

    folder: Path
    files: Mapping[str, str] = field(default_factory=dict)
    broker: ModelBroker | None = None
    in_thread: OffLoop = run_off_loop
    spawn: Spawn = execute_program


@dataclass(eq=False)
class KeptWorker:
    """Keeps the newest worker for the next turn, as most turns are made by equal ones.

    Each worker has a task of its own among ``tasks``: it may begin before others end.
    """

    means: WorkerMeans
    tasks: TaskGroup
    _spec: LaunchSpec | None = field(default=None, init=False)
    _worker: Worker | None = field(default=None, init=False)
    _left: anyio.Event = field(default_factory=anyio.Event, init=False)

    async def find_worker(self, spec: LaunchSpec) -> Worker:
        """Return a worker of this spec, in place of one of another spec.

        Raises:
            WorkerError: it cannot be started.
        """
        worker, means = self._worker, self.means
        if worker is None or self._spec != spec or not worker.is_usable:
            self.leave_worker()
            write = partial(write_trial_files, means.folder, spec, means.files)
            await means.in_thread(write)
            worker = self._worker = await self.tasks.start(self._host_worker, spec, self._left)
            self._spec = spec
        return worker

    def leave_worker(self) -> None:
        """Let the worker end, if there is one."""
        self._left.set()
        self._worker, self._left = None, anyio.Event()

    async def _host_worker(
        self, spec: LaunchSpec, left: anyio.Event, *, task_status: TaskStatus[Worker]
    ) -> None:
        async with run_trial_worker(spec, self.means.broker, self.means.spawn) as worker:
            task_status.started(worker)
            await left.wait()


@asynccontextmanager
async def keep_worker(means: WorkerMeans) -> AsyncIterator[KeptWorker]:
    """Return what keeps a worker, which ends with the block."""
    async with anyio.create_task_group() as tasks:
        kept = KeptWorker(means, tasks)
        try:
            yield kept
        finally:
            kept.leave_worker()


@asynccontextmanager
async def run_trial_worker(
    spec: LaunchSpec, broker: ModelBroker | None = None, spawn: Spawn = execute_program
) -> AsyncIterator[Worker]:
    """Run a worker that gives way to others, with a channel of its own to the ``broker``.

    Raises:
        WorkerError: it cannot be started.
    """
    opened = (
        nullcontext()
        if broker is None
        else broker.open_channel(spec.agent_id, spec.grants, aside=True)
    )
    with opened as channel:
        async with run_worker(spec, spawn, channel) as worker:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, worker.pid, NICE)
            yield worker
