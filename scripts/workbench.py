"""Agents without a daemon, for bench_wake and bench_memory: supervisors and a stub model."""

import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from daemonbench import stub_model

from orchestrator.agentsfile import AgentDefinition
from orchestrator.processes.child_process import execute_program
from orchestrator.processes.launch import LaunchSpec, build_launch_spec, resolve_endpoint
from orchestrator.processes.model_broker import ModelBroker
from orchestrator.processes.supervisor import Supervisor
from orchestrator.processes.worker import Worker
from orchestrator.processes.zygotes import Zygotes
from orchestrator.settings import Settings
from thinker.protocol import logs
from thinker.protocol.messages import ToolResult, UserMessage
from thinker.protocol.methods import ChatRef, StepCommit, StepCommitted, TurnRun

START_TRIES = 20  # waits for a zygote, of two seconds each; a busy machine needs some


class Host:
    """Keeps a turn's steps nowhere; there are no tools."""

    def __init__(self) -> None:
        self._seq = 0

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        """Return the step's number."""
        del commit
        self._seq += 1
        return StepCommitted(seq=self._seq)

    async def call_tool(self, seq: int) -> ToolResult:
        """Nothing is offered, so nothing is called."""
        raise NotImplementedError(seq)

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """Return no messages: none arrive during a turn here."""
        return ()

    def show_partial_answer(self, text: str) -> None:
        """Show nothing."""


class Workbench:
    """Two supervisors of agents with one launch spec: one forks its workers, one executes them."""

    def __init__(self, forking: Supervisor, executing: Supervisor, spec: LaunchSpec) -> None:
        self.forking = forking
        self.executing = executing
        self._spec = spec

    def define(self, supervisor: Supervisor, number: int) -> str:
        """Define an agent that never stops for idleness, and return its name."""
        name = f"agent-{number}"
        settings = self._spec.settings.model_copy(update={"agent_id": name})
        supervisor.define_agent(replace(self._spec, agent_id=name, settings=settings), 24 * 60)
        return name


async def turn(worker: Worker) -> None:
    """Run a turn with one request to the stub model."""
    now = time.time()
    run = TurnRun(
        turn_id="bench",
        chat=ChatRef(channel="bench", chat_id="bench"),
        messages=(UserMessage(content="tools=0"),),
        stream=True,
        started_at=now,
        deadline=now + 60,
    )
    result = await worker.run_turn(run, Host(), now)
    if result.text != "done":
        raise SystemExit(f"wrong answer: {result}")


async def stop_worker(supervisor: Supervisor, name: str) -> None:
    """End an agent's worker and wait until it is gone."""
    slot = supervisor.slots[name]
    if slot.worker is not None:
        slot.worker.stop()
    while slot.has_task:
        await slot.changed.wait()


@asynccontextmanager
async def workbench() -> AsyncIterator[Workbench]:
    """Open a workbench with a ready zygote and a stub model in its own process."""
    logs.configure_logging("error")
    async with stub_model() as url:
        with tempfile.TemporaryDirectory() as home:
            settings = Settings(home=Path(home), log_level="error")
            settings.paths.create_directories()
            fields = {"agent_id": "bench", "llm_provider": "openai", "model": "stub"}
            definition = AgentDefinition.model_validate({**fields, "base_url": url})
            spec = build_launch_spec(definition, settings, resolve_endpoint(definition, {}, ()), {})
            async with anyio.create_task_group() as tasks:
                zygotes = Zygotes(settings, {})
                tasks.start_soon(zygotes.run)
                broker = ModelBroker(settings, {})
                tasks.start_soon(broker.run)
                forking = Supervisor(tasks, spawn=zygotes.spawn_worker, broker=broker)
                executing = Supervisor(tasks, spawn=execute_program, broker=broker)
                bench = Workbench(forking, executing, spec)
                for _ in range(START_TRIES):
                    if await zygotes.wait_for_zygote() is not None:
                        break
                yield bench
                tasks.cancel_scope.cancel()
