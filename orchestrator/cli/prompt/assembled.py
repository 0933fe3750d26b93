"""Assemble a prompt as the agent's worker would now, without a daemon or a model call.

A separate worker with its own prompt file does it, and the journal is only read, so that a
running daemon is not disturbed.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import anyio
import apsw
from pydantic import BaseModel

from orchestrator import memory_access
from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.cli._options import environment
from orchestrator.errors import WorkerError
from orchestrator.journal.db.store import reading
from orchestrator.journal.memory import playbooks
from orchestrator.journal.memory.prompt_memory import PromptMemory, load_prompt_memory
from orchestrator.journal.turns import sessions
from orchestrator.journal.turns.outbox import Address
from orchestrator.processes import launch
from orchestrator.processes.launch import Endpoint, LaunchSpec
from orchestrator.processes.worker import running_worker
from orchestrator.settings import Settings
from orchestrator.tools.builtin.catalog import offered
from orchestrator.turns import input_origins
from thinker.protocol import methods
from thinker.protocol.messages import JsonObject, Origin, UserMessage
from thinker.protocol.methods import ChatRef, TurnRun
from thinker.protocol.peer import PeerClosedError, RpcError
from thinker.protocol.prompt_record import PromptRecord
from thinker.protocol.providers import PROVIDERS
from thinker.protocol.rendering import PromptRender, PromptRendered

SECONDS = 30.0  # timeout of reading the skills and assembling the layers
M = TypeVar("M", bound=BaseModel)
DEMO = Endpoint("demo", PROVIDERS["demo"].default_model)


@dataclass(frozen=True)
class StoredContext:
    """What the journal contributes to a prompt."""

    memory: PromptMemory
    summary: str | None = None
    summary_origin: Origin = "user"


def load_context(
    path: Path,
    agents: AgentsFile,
    definition: AgentDefinition,
    chat: ChatRef,
    text: str,
    now: float,
) -> StoredContext:
    """Load what the journal at ``path`` has for a message; without a journal, the defaults.

    Raises:
        JournalError: the file cannot be read.
    """
    if not path.exists():
        books = playbooks.named(playbooks.defaults(), definition.skills)
        return StoredContext(PromptMemory(playbooks=playbooks.records(books)))
    with reading(path) as db:
        scope = f"{chat.channel}:{chat.chat_id}"
        memory = memory_access.memory_of(agents, db, definition.agent_id, scope)
        known = load_prompt_memory(db, memory, text, definition.skills)
        session = _session(db, definition.agent_id, chat, int(now * 1000))
        if session is None:
            return StoredContext(known)
        origin = sessions.summary_origin(db, session)
        return StoredContext(known, sessions.summary(db, session), origin)


def _session(db: apsw.Connection, agent_id: str, chat: ChatRef, now: int) -> int | None:
    address: Address | None = sessions.address(db, agent_id, chat.channel, chat.chat_id)
    if address is None:
        return None
    try:
        return sessions.current(db, agent_id, address.chat_key, now)
    except apsw.ReadOnlyError:  # the chat has no open session, and a preview starts none
        return None


def preview(definition: AgentDefinition, settings: Settings, turn: TurnRun) -> PromptRecord:
    """Assemble the prompt of ``turn``.

    Raises:
        WorkerError: the worker could not be started, or the request failed.
    """
    return _run_worker(definition, settings, methods.PROMPT_PREVIEW, turn, PromptRecord)


def render(settings: Settings, request: PromptRender) -> PromptRendered:
    """Render a prompt definition on its own.

    Raises:
        WorkerError: the worker could not be started, or the request failed.
    """
    agent = AgentDefinition(agent_id="preview", llm_provider="demo")
    return _run_worker(agent, settings, methods.PROMPT_RENDER, request, PromptRendered)


def _run_worker(
    agent: AgentDefinition, settings: Settings, method: str, request: BaseModel, answer: type[M]
) -> M:
    with TemporaryDirectory(prefix="orchestrator-") as folder:
        spec = _spec(agent, settings, environment(settings), Path(folder))
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


def preview_turn(
    definition: AgentDefinition,
    prompt: JsonObject | None,
    chat: ChatRef,
    text: str,
    stored: StoredContext,
    now: float,
) -> TurnRun:
    """Build a turn for `preview`; ``now`` is in seconds since the epoch."""
    memory = stored.memory
    run = TurnRun(
        turn_id="preview",
        chat=chat,
        messages=(UserMessage(content=text),),
        summary=stored.summary,
        summary_origin=stored.summary_origin,
        profile_prompt=memory.profile_prompt,
        profile_origin=memory.profile_origin,
        prompt=prompt,
        memories=memory.memories,
        playbooks=memory.playbooks,
        skills=memory.skills,
        tools=offered(definition),
        started_at=now,
        deadline=now + SECONDS,
    )
    return input_origins.unmarked(run) if definition.provenance == "off" else run


def _spec(
    definition: AgentDefinition, settings: Settings, environ: Mapping[str, str], folder: Path
) -> LaunchSpec:
    """Return the agent's launch spec, with a prompt file in ``folder`` and without keys."""
    endpoint = launch.resolve_endpoint(definition, environ, ())
    key = PROVIDERS[endpoint.provider].key_var
    if key is not None and not (environ.get(key) or definition.env.get(key) or endpoint.base_url):
        endpoint = DEMO
    spec = launch.build_launch_spec(
        definition.model_copy(update={"fallback_models": ()}),
        settings.model_copy(update={"log_level": "warning"}),
        endpoint,
        environ,
    )
    path = folder / "system-prompt.txt"
    env = dict(spec.env)
    if spec.prompt is not None:
        env["THINKER_SYSTEM_PROMPT_PATH"] = str(path)
    return dataclasses.replace(spec, prompt_path=path, env=env, cwd=folder)
