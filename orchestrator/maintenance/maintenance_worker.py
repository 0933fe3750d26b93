"""Upkeep off the reply's path: compaction, fact extraction, vectors of facts (design §10).

What is due stands in the journal, so that it holds across restarts; the model is asked by the
agent's own worker. Work that fails or may not be done (a pause, a budget) is tried again when the
session has grown, or has been quiet for as long once more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import anyio
import apsw
import structlog
from anyio.abc import TaskGroup

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.journal.db.store import STORAGE_RETRY, Store, report_failure, retry_later
from orchestrator.journal.memory import fact_vectors
from orchestrator.journal.turns import sessions
from orchestrator.journal.upkeep import compaction
from orchestrator.maintenance.embedding_index import EmbeddingIndex
from orchestrator.processes.supervisor import Supervisor
from orchestrator.spending.metered_calls import MeteredCall, MeteredCalls
from orchestrator.spending.spending_guard import SpendingGuard
from thinker.protocol.background import (
    FACTS_EXTRACT,
    SESSION_COMPACT,
    Compact,
    Compacted,
    Extract,
    Extracted,
    MeteredResult,
)
from thinker.protocol.logs import bound
from thinker.protocol.messages import Frozen

AT_ONCE = 2  # of all agents: such calls must not crowd out the answers
ANSWER = 1000  # tokens that a summary or a list of facts may take
Answer = TypeVar("Answer", bound=MeteredResult)
log = structlog.get_logger()


@dataclass(frozen=True)
class MaintenanceJob:
    """A session that wants upkeep; ``name`` is that of the work in the usage table."""

    kind: str  # compaction | extraction | embedding
    session_id: int
    agent: AgentDefinition
    tokens: int = 0

    @property
    def name(self) -> str:
        """``compaction/7``; facts belong to no session, and are embedded agent by agent."""
        return f"{self.kind}/{self.session_id or self.agent.agent_id}"


class MaintenanceWorker:
    """Does what is due, until cancelled or closed."""

    def __init__(
        self,
        store: Store,
        supervisor: Supervisor,
        gate: SpendingGuard,
        embeddings: EmbeddingIndex,
        agents: Callable[[], AgentsFile],
        clock: Callable[[], int],
    ) -> None:
        self._store = store
        self._supervisor = supervisor
        self._gate = gate
        self._embeddings = embeddings
        self._configured = agents
        self._clock = clock
        self._background = MeteredCalls(store, supervisor, gate)
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope()
        self._busy: set[str] = set()
        self._failed: dict[int, int] = {}  # sessions that were not compacted: tokens at that time

    def wake(self) -> None:
        """A session has grown, or the configuration has changed."""
        self._changed.set()

    def close(self) -> None:
        """Let go of what is in hand; the next process does it."""
        self._scope.cancel()

    async def run(self) -> None:
        """Look for work whenever a session grows, and when one has been quiet long enough."""
        with self._scope:
            async with anyio.create_task_group() as tasks:
                while True:
                    self._changed = anyio.Event()
                    delay: float | None = STORAGE_RETRY
                    try:
                        delay = await self._look(tasks)
                    except JournalError as error:
                        report_failure(error)
                    with anyio.move_on_after(delay):
                        await self._changed.wait()

    async def _look(self, tasks: TaskGroup) -> float | None:
        """Begin what is due; the seconds until there may be more, None when somebody must wake."""
        now, agents = self._clock(), self._agents()
        due, upcoming = self._store.read(self._due, agents, now)
        for agent in self._embedding():
            if self._store.read(fact_vectors.lacking, agent.agent_id, 1):
                due.append(MaintenanceJob("embedding", 0, agent))
        for work in due:
            if len(self._busy) == AT_ONCE:
                return None
            if work.name not in self._busy:
                self._busy.add(work.name)
                tasks.start_soon(self._do, work)
        return None if upcoming is None else (upcoming - now) / 1000

    def _due(
        self, db: apsw.Connection, agents: Mapping[str, AgentDefinition], now: int
    ) -> tuple[list[MaintenanceJob], int | None]:
        limits: dict[str, int] = {}
        idle: dict[str, int] = {}
        for name, agent in agents.items():
            if agent.compaction.enabled:
                limits[name] = agent.compaction.threshold_tokens
            if agent.fact_extraction.enabled:
                idle[name] = round(agent.fact_extraction.idle_minutes * 60_000)
        found = [
            MaintenanceJob("compaction", session_id, agents[agent_id], tokens)
            for session_id, agent_id, tokens in compaction.large(db, limits)
            if tokens > self._failed.get(session_id, 0)
        ]
        quiet, upcoming = compaction.quiet(db, idle, now)
        found += [
            MaintenanceJob("extraction", session, agents[agent_id]) for session, agent_id in quiet
        ]
        return found, upcoming

    def _embedding(self) -> list[AgentDefinition]:
        """Agents with a process at hand whose model may be asked for vectors."""
        slots, embeddings = self._supervisor.slots(), self._embeddings
        return [
            agent
            for agent in self._configured().agents
            if embeddings.ready(agent, agent.agent_id)
            and (slot := slots.get(agent.agent_id)) is not None
            and slot.worker is not None
        ]

    def _agents(self) -> dict[str, AgentDefinition]:
        """Agents that take messages and have a language model: the demo has none to ask."""
        slots = self._supervisor.slots()
        return {
            agent.agent_id: agent
            for agent in self._configured().agents
            if agent.agent_id in slots and slots[agent.agent_id].spec.endpoint.provider != "demo"
        }

    async def _do(self, work: MaintenanceJob) -> None:
        with bound(agent_id=work.agent.agent_id, session=work.session_id):
            try:
                if work.kind == "embedding":
                    await self._embeddings.fill(work.agent)
                else:
                    digest = self._compact if work.kind == "compaction" else self._extract
                    await digest(work)
            except JournalError as error:
                await retry_later(error)
            finally:
                self._busy.discard(work.name)
                self.wake()

    async def _compact(self, work: MaintenanceJob) -> None:
        store = self._store
        self._failed[work.session_id] = work.tokens
        keep = work.agent.compaction.keep_turns
        part = await store.transact(compaction.older, work.session_id, keep)
        if part is None:
            return
        request = Compact(messages=part.messages, summary=part.summary)
        size = sum(map(sessions.tokens, part.messages)) + len(part.summary or "") // 4
        answer = await self._ask(work, size, SESSION_COMPACT, request, Compacted)
        if answer is None:
            return

        def keep_summary(db: apsw.Connection) -> bool:
            self._gate.settle_work(db, work.agent.agent_id, work.name, answer)
            return bool(answer.summary) and compaction.compacted(db, part, answer.summary)

        if await store.transact(keep_summary):
            del self._failed[work.session_id]
        log.info("session_compacted", messages=len(part.messages), **_result(answer))

    async def _extract(self, work: MaintenanceJob) -> None:
        store, now = self._store, self._clock()
        most = work.agent.fact_extraction.max_turns
        stretch = await store.transact(compaction.unseen, work.session_id, most)
        if stretch is None:
            return
        request = Extract(messages=stretch.messages, known=stretch.known)
        size = sum(map(sessions.tokens, stretch.messages)) + len("".join(stretch.known)) // 4
        answer = await self._ask(work, size, FACTS_EXTRACT, request, Extracted)
        if answer is None:
            await store.transact(compaction.postpone, work.session_id, now)
            return

        def keep_facts(db: apsw.Connection) -> int:
            self._gate.settle_work(db, work.agent.agent_id, work.name, answer)
            return compaction.extracted(db, stretch, answer.facts, self._clock())

        new = await store.transact(keep_facts)
        log.info("facts_extracted", turns=len(stretch.turns), new=new, **_result(answer))

    async def _ask(
        self, work: MaintenanceJob, size: int, method: str, request: Frozen, expected: type[Answer]
    ) -> Answer | None:
        """What the agent's model says; None when it could not, or may not, be asked."""
        agent_id = work.agent.agent_id
        asked = MeteredCall(work.name, agent_id, agent_id, size + ANSWER)
        try:
            answer = await self._background.ask(asked, method, request, expected)
        except OrchestratorError as error:
            log.warning("upkeep_failed", work=work.kind, problem=str(error))
            return None
        if answer is None:
            log.info("upkeep_not_allowed", work=work.kind)
        return answer


def _result(answer: MeteredResult) -> dict[str, object]:
    return {"model": answer.model, "tokens": answer.usage.total, "problem": answer.problem}
