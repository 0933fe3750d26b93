"""Assemble a prompt without a daemon and without a model call, as the agent's turn would have it.

A separate worker with its own prompt file does it. The journal is copied into memory, so that the
file is only read.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TypeVar

import anyio
from pydantic import BaseModel, ValidationError

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.cli._options import environment
from orchestrator.errors import WorkerError
from orchestrator.hands.hand_servers import hand_servers
from orchestrator.journal.access import tool_lists, tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import trial
from orchestrator.processes import launch
from orchestrator.processes.launch import Endpoint, LaunchSpec
from orchestrator.processes.local_models import local_servers
from orchestrator.processes.worker import running_worker
from orchestrator.prompts.library import PromptLibrary
from orchestrator.settings import Settings
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.tools import policy
from orchestrator.tools.builtin.catalog import TOOLS, offered
from orchestrator.tools.mcp import pins
from orchestrator.tools.mcp.mcp_tools import build_catalog, own_tools
from orchestrator.turns.rehearsal import ImaginedMessage, rehearse
from orchestrator.turns.turn_inputs import LoopFacts, turn_run
from thinker.protocol import methods
from thinker.protocol.messages import ToolSpec
from thinker.protocol.methods import TurnRun
from thinker.protocol.peer import PeerClosedError, RpcError
from thinker.protocol.prompt_record import PromptPreview
from thinker.protocol.providers import key_variables
from thinker.protocol.rendering import PromptRender, PromptRendered

SECONDS = 30.0  # timeout of reading the skills and assembling the layers
M = TypeVar("M", bound=BaseModel)


def preview(
    settings: Settings,
    agents: AgentsFile,
    library: PromptLibrary,
    asked: ImaginedMessage,
    now: float,
) -> PromptPreview:
    """Return what the agent's model would be sent for a message; ``now`` in seconds.

    Tools of MCP servers are those that each listed last. Without an embeddings model, memories and
    tools are chosen by words.

    Raises:
        JournalError: the journal cannot be read.
        WorkerError: the worker could not be started, or the request failed.
    """
    definition = agents.agent(asked.agent)
    if definition is None:
        raise AssertionError(asked.agent)
    turn = _turn(settings, agents, library, definition, asked, now)
    agent = library.with_model(definition, agents)
    spec = _spec(agent, settings, environment(settings), library.templates)
    return _run_worker(spec, methods.PROMPT_PREVIEW, turn, PromptPreview)


def render(settings: Settings, request: PromptRender) -> PromptRendered:
    """Render a prompt definition on its own.

    Raises:
        WorkerError: the worker could not be started, or the request failed.
    """
    agent = AgentDefinition(agent_id="preview", llm_provider="demo")
    spec = _spec(agent, settings, environment(settings))
    return _run_worker(spec, methods.PROMPT_RENDER, request, PromptRendered)


def _turn(
    settings: Settings,
    agents: AgentsFile,
    library: PromptLibrary,
    definition: AgentDefinition,
    asked: ImaginedMessage,
    now: float,
) -> TurnRun:
    at = round(now * 1000)
    rules = SpendingRules(agents, environment(settings), lambda: at, at)
    with trial(settings.journal) as db:
        inputs = rehearse(db, definition, LoopFacts(rules), asked)
        tools = _offered(db, settings, agents, library, definition, at)
    environments = library.environments(definition, agents, inputs.address)
    return turn_run(inputs, library, environments, tools)


def _offered(
    db: Database,
    settings: Settings,
    agents: AgentsFile,
    library: PromptLibrary,
    definition: AgentDefinition,
    now: int,
) -> tuple[ToolSpec, ...]:
    """Return the agent's tools, with those that the MCP servers listed last."""
    hands = hand_servers(agents, settings.paths)
    pinned = {name for name, server in agents.mcp_servers.items() if server.pin}
    pinned |= {name for name, hand in hands.items() if hand.server.pin}
    listed = {}
    for server, stored in tool_lists.every(db).items():
        try:
            tools = pins.TOOLS.validate_json(stored)
        except ValidationError:  # of another version
            continue
        if server in pinned:
            digests = {tool.name: tool.digest for tool in reversed(tools)}
            trusted, _ = tool_pins.compare(db, server, digests, now)
            tools = tuple(tool for tool in tools if tool.digest in trusted)
        listed[server] = tools
    served, _ = build_catalog(listed, agents.mcp_servers, TOOLS)
    served |= own_tools(listed, hands).get(definition.agent_id, {})
    specs = [tool.spec for tool in served.values()]
    specs += [tool.spec for tool in library.tools(definition).values()]
    return offered(definition) + policy.offer(specs, definition)


def _run_worker(spec: LaunchSpec, method: str, request: BaseModel, answer: type[M]) -> M:
    """Run a worker in a folder of its own, so that no file of a running daemon changes."""
    with TemporaryDirectory(prefix="orchestrator-") as folder:
        path = Path(folder) / "system-prompt.txt"
        own = spec.settings
        if spec.prompt is not None:
            own = own.model_copy(update={"system_prompt_path": path})
        spec = dataclasses.replace(spec, prompt_path=path, settings=own, cwd=Path(folder))
        launch.write_prompt(spec)
        return anyio.run(_call_worker, spec, method, request, answer)


async def _call_worker(spec: LaunchSpec, method: str, request: BaseModel, answer: type[M]) -> M:
    async with running_worker(spec) as worker:
        try:
            return await worker.peer.call(method, request, answer, timeout=SECONDS)
        except (PeerClosedError, RpcError, TimeoutError) as error:
            raise WorkerError(
                f"agent {spec.agent_id!r} could not assemble the prompt ({error})"
            ) from error


def _spec(
    definition: AgentDefinition,
    settings: Settings,
    environ: Mapping[str, str],
    templates: Mapping[str, Path] = MappingProxyType({}),
) -> LaunchSpec:
    """Return the agent's launch spec; it needs no key, as nothing is asked."""
    endpoint = _endpoint(definition, environ)
    keys = {**dict.fromkeys(key_variables(definition.providers), "none-needed"), **environ}
    quiet = settings.model_copy(update={"log_level": "warning"})
    return launch.build_launch_spec(definition, quiet, endpoint, keys, templates)


def _endpoint(definition: AgentDefinition, environ: Mapping[str, str]) -> Endpoint:
    found = launch.resolve_endpoint(definition, environ, ())
    if definition.llm_provider != "auto" or found.provider != "demo":
        return found
    return launch.resolve_endpoint(definition, environ, anyio.run(local_servers))
