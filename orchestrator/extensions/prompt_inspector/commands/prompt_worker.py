"""Run a worker that assembles or renders a prompt, without a daemon or model call.

It has its own folder and prompt file, so that no file of a running daemon changes.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TypeVar

import anyio
from pydantic import BaseModel

from orchestrator.agentsfile import AgentDefinition
from orchestrator.cli.options import load_environment
from orchestrator.errors import WorkerError
from orchestrator.installed import find_installed
from orchestrator.processes import launch
from orchestrator.processes.launch import Endpoint, LaunchSpec
from orchestrator.processes.local_models import find_local_servers
from orchestrator.processes.worker import run_worker
from orchestrator.settings import Settings
from thinker.protocol import methods
from thinker.protocol.methods import TurnRun
from thinker.protocol.peer import PeerClosedError, RpcError
from thinker.protocol.prompt_record import PromptPreview
from thinker.protocol.providers import list_key_variables
from thinker.protocol.rendering import PromptRender, PromptRendered

SECONDS = 30.0  # timeout of reading the skills and assembling the layers
M = TypeVar("M", bound=BaseModel)


def assemble_prompt(
    settings: Settings, agent: AgentDefinition, templates: Mapping[str, Path], turn: TurnRun
) -> PromptPreview:
    """Return the request with which an agent's turn would begin.

    Raises:
        WorkerError: the worker could not be started, or the request failed.
    """
    spec = _build_spec(agent, settings, load_environment(settings), templates)
    return _run_worker(spec, methods.PROMPT_PREVIEW, turn, PromptPreview)


def render_prompt(settings: Settings, request: PromptRender) -> PromptRendered:
    """Render a prompt definition by itself; extensions render their layouts here.

    Raises:
        WorkerError: the worker could not be started, or the request failed.
    """
    for extension in find_installed().every():
        render = extension.list_layouts().get(request.layout)
        if render is not None:
            return PromptRendered.model_validate(render(request))
    agent = AgentDefinition(agent_id="preview", llm_provider="demo")
    spec = _build_spec(agent, settings, load_environment(settings))
    return _run_worker(spec, methods.PROMPT_RENDER, request, PromptRendered)


def _run_worker(spec: LaunchSpec, method: str, request: BaseModel, answer: type[M]) -> M:
    """Run a worker in a separate folder, so that no file of a running daemon changes."""
    with TemporaryDirectory(prefix="orchestrator-") as folder:
        path = Path(folder) / "system-prompt.txt"
        own = spec.settings
        if spec.prompt is not None:
            own = own.model_copy(update={"system_prompt_path": path})
        spec = dataclasses.replace(spec, prompt_path=path, settings=own, cwd=Path(folder))
        launch.write_prompt(spec)
        return anyio.run(_call_worker, spec, method, request, answer)


async def _call_worker(spec: LaunchSpec, method: str, request: BaseModel, answer: type[M]) -> M:
    async with run_worker(spec) as worker:
        try:
            return await worker.peer.call(method, request, answer, timeout=SECONDS)
        except (PeerClosedError, RpcError, TimeoutError) as error:
            raise WorkerError(
                f"agent {spec.agent_id!r} could not assemble the prompt ({error})"
            ) from error


def _build_spec(
    definition: AgentDefinition,
    settings: Settings,
    environ: Mapping[str, str],
    templates: Mapping[str, Path] = MappingProxyType({}),
) -> LaunchSpec:
    """Return the agent's launch spec, without keys, as no provider is called."""
    endpoint = _find_endpoint(definition, environ)
    keys = {**dict.fromkeys(list_key_variables(definition.providers), "none-needed"), **environ}
    quiet = settings.model_copy(update={"log_level": "warning"})
    return launch.build_launch_spec(definition, quiet, endpoint, keys, templates)


def _find_endpoint(definition: AgentDefinition, environ: Mapping[str, str]) -> Endpoint:
    found = launch.resolve_endpoint(definition, environ, ())
    if definition.llm_provider != "auto" or found.provider != "demo":
        return found
    return launch.resolve_endpoint(definition, environ, anyio.run(find_local_servers))
