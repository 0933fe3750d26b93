"""Background work in memory: a real journal, guard and supervisor; the worker is a test's function.

The worker's wire is real, its process is this one.
"""

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup
from fakes.agent_process import real_spec
from fakes.agents_file import parsed
from fakes.journal import connection_in, store_in
from fakes.time_limit import time_limit
from fakes.wire import memory_pair
from pydantic import BaseModel, JsonValue

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.journal.db.database import Connection
from orchestrator.journal.inspect import recent_turns
from orchestrator.processes.supervisor import Supervisor
from orchestrator.processes.worker import Worker
from orchestrator.spending.metered_calls import MeteredCalls
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.turns.embedding_index import EmbeddingIndex
from thinker.protocol.background import EmbeddingRequest, EmbeddingResult, MeteredResult
from thinker.protocol.messages import Usage
from thinker.protocol.peer import Peer

NOON = 1_770_000_000_000  # milliseconds
AGENT = {"agentId": "work", "llmProvider": "ollama", "model": "m"}
USED = {"model": "ollama/m", "usage": Usage(prompt=70, completion=30)}
Request = TypeVar("Request", bound=BaseModel)


@dataclass(frozen=True)
class MemoryProcess:
    """A process that is this one: its end is never seen."""

    peer: Peer
    pid: int = os.getpid()

    @asynccontextmanager
    async def open_peer(self) -> AsyncIterator[Peer]:
        """Its wire."""
        yield self.peer

    def signal(self, number: signal.Signals) -> None:
        """Ignore a signal."""

    async def wait_for_end(self) -> int:
        """Never."""
        await anyio.sleep_forever()
        return 0

    def close(self) -> None:
        """Hold nothing."""


class BackgroundBench:
    """The agent ``work`` with its worker; ``now`` is the time in milliseconds."""

    def __init__(self, folder: Path, tasks: TaskGroup, fields: dict[str, Any]) -> None:
        self.folder = folder
        self.store = store_in(folder)
        self.db: Connection = connection_in(folder)
        self.now = NOON
        loaded = parsed(AGENT | fields)
        assert not loaded.errors
        self.file = loaded.file
        self.supervisor = Supervisor(tasks)
        self.gate = SpendingGuard(self.store, self._agents, {"TZ": "UTC"}, self._clock)
        self.calls = MeteredCalls(self.store, self.supervisor, self.gate)
        self.index = EmbeddingIndex(self.calls, lambda: self.now / 1000)
        self.held: anyio.Event | None = None  # answers wait for it
        self.requests: list[tuple[str, BaseModel]] = []
        self._worker: Peer | None = None

    @property
    def agent(self) -> AgentDefinition:
        """The agent ``work``."""
        return self.file.agents[0]

    def serve(
        self, method: str, kind: type[Request], answer: Callable[[Request], MeteredResult]
    ) -> None:
        """Let the worker answer this method so; the request is kept in ``requests``."""

        async def handle(params: JsonValue) -> MeteredResult:
            request = kind.model_validate(params)
            self.requests.append((method, request))
            if self.held is not None:
                await self.held.wait()
            return answer(request)

        assert self._worker is not None
        self._worker.requests[method] = handle

    @property
    def worker_peer(self) -> Peer:
        """The worker's end of its wire."""
        assert self._worker is not None
        return self._worker

    def lose_worker(self) -> None:
        """End the worker's process, as far as the supervisor can see."""
        assert self._worker is not None
        self._worker.close()

    def spent(self) -> list[tuple[str, str, int]]:
        """Every call in the usage table: name, state, tokens."""
        return [
            (str(name), str(state), int(tokens))
            for name, state, tokens in self.db.execute(
                "SELECT turn_id, state, prompt + completion FROM model_call ORDER BY id"
            )
        ]

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait for a state of the journal."""
        with time_limit():
            while not reached():
                await anyio.lowlevel.checkpoint()

    async def idle(self) -> None:
        """Wait until every task waits, also for the journal's thread."""
        for _ in range(3):
            await anyio.wait_all_tasks_blocked()
            await self.store.transact(recent_turns.count_messages_by_state)

    def _agents(self) -> AgentsFile:
        return self.file

    def _clock(self) -> int:
        return self.now

    @asynccontextmanager
    async def _worker_in_memory(self) -> AsyncIterator[None]:
        spec = real_spec(self.folder, llm_provider="ollama", model="m")
        async with memory_pair({}, {}) as (ours, theirs):
            self.supervisor.define_agent(spec, 30)
            self._worker = theirs
            slot = self.supervisor.slots["work"]
            slot.worker = Worker("agent 'work'", MemoryProcess(ours), ours, spec=spec)
            yield


@asynccontextmanager
async def background(folder: Path, **fields: Any) -> AsyncIterator[BackgroundBench]:
    """A bench whose agent has these fields."""
    async with anyio.create_task_group() as tasks:
        bench = BackgroundBench(folder, tasks, fields)
        try:
            async with bench._worker_in_memory():
                yield bench
        finally:
            tasks.cancel_scope.cancel()
            bench.db.close()
            bench.store.close()


def embedded(vectors: Iterable[bytes]) -> Callable[[EmbeddingRequest], EmbeddingResult]:
    """Answers of an embeddings model: these vectors, in turn."""
    rest = iter(vectors)
    return lambda request: EmbeddingResult(vectors=tuple(next(rest) for _ in request.texts), **USED)
