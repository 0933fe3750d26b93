"""Background jobs of agents: compaction, fact extraction, vectors of facts and messages.

The journal knows the due jobs, so they survive restarts; the agent's own worker calls the model. A
job that fails or is not allowed (a pause, a budget) is retried when the session has grown, or has
been quiet for as long again.

Where: is a conversation picked for a summary?
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator import turn_access
from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.agentsfile.model_costs import compute_compaction_threshold, find_window
from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.extensions.memory import due_sessions, embedding_jobs, memory_requests
from orchestrator.extensions.memory.embedding_jobs import EmbeddingJobs
from orchestrator.extensions.memory.local_servers import QUIET_SECONDS, LocalServers
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import STORAGE_RETRY, report_failure, retry_later
from orchestrator.loop_bound import LoopBound
from orchestrator.spending.metered_calls import MeteredCall, MeteredCalls
from orchestrator.turns.embedding_index import PAUSE_SECONDS, EmbeddingIndex
from orchestrator.wakeup import Wakeup
from thinker.protocol import background
from thinker.protocol.context_windows import ContextWindow
from thinker.protocol.logs import bound
from thinker.protocol.messages import Frozen
from thinker.protocol.peer import TOO_LONG, RpcError

AT_ONCE = 2  # jobs at a time for all agents, so that answers are not slowed down
GATHERED = 1.0  # seconds; sessions that grow meanwhile are checked together
WAIT = 1000  # milliseconds until a busy server is looked at again
REST = 1000 * (PAUSE_SECONDS + GATHERED)  # milliseconds until embeddings are asked again
TRIES = 2  # of a job for vectors without an answer: a server may just start
ANSWER = 1000  # tokens reserved for a summary or a list of facts
Answer = TypeVar("Answer", bound=background.MeteredResult)
log = structlog.get_logger()


class GaveWay(Exception):  # noqa: N818 - not a fault
    """A person needed the model's server, so the call was ended."""


class InputTooLong(Exception):  # noqa: N818 - the model's limit, not a fault
    """The model cannot read as much as the job has."""


class MaintenanceJob(NamedTuple):
    """One job for a session, or for an agent's facts; ``tokens`` is the session's size."""

    kind: str  # compaction | extraction | embedding
    session_id: int
    agent: AgentDefinition
    tokens: int = 0

    @property
    def name(self) -> str:
        """The job's name in the usage table: ``compaction/7``, ``embedding/AGENT``."""
        return f"{self.kind}/{self.session_id or self.agent.agent_id}"


class _JobSearch(NamedTuple):
    """The jobs to look for: jobs of a language model, or facts and messages without vectors.

    ``backlog``: older messages may lack vectors.
    """

    agent: AgentDefinition
    thinks: bool
    embeds: bool
    window: ContextWindow | None = None
    backlog: bool = False


@dataclass(eq=False)
class MaintenanceWorker(LoopBound):
    """Runs due jobs until cancelled or closed; ``clock`` returns milliseconds since the epoch."""

    calls: MeteredCalls
    embeddings: EmbeddingIndex
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    quiet: float = QUIET_SECONDS  # of a local server before a job uses it
    learned: Callable[[], None] = lambda: None  # called after an extraction
    _wakeup: Wakeup = field(default_factory=Wakeup, init=False)
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope, init=False)
    _busy: set[str] = field(default_factory=set, init=False)
    # The agents to check, None for all, and when some may have a job without a change.
    _changed: set[str | None] = field(default_factory=lambda: {None}, init=False)
    _upcoming: float = field(default=math.inf, init=False)
    # When an embeddings model that did not answer a turn in time is asked again.
    _retry: float = field(default=math.inf, init=False)
    # Sessions whose compaction failed, with their size in tokens at that time.
    _failed: dict[int, int] = field(default_factory=dict, init=False)

    @cached_property
    def servers(self) -> LocalServers:
        """The local model servers that jobs share with people."""
        return LocalServers(self.calls.supervisor, self.quiet)

    @cached_property
    def vectors(self) -> EmbeddingJobs:
        """The embedding of facts and messages."""
        return EmbeddingJobs(self.calls.store, self.embeddings, self.servers)

    def wake(self, agent_id: str | None = None) -> None:
        """Look for due jobs again, of the agent whose session has grown, or of all."""
        self._changed.add(agent_id)
        self._wakeup.wake()

    def close(self) -> None:
        """Cancel running jobs; the next process repeats them."""
        self._scope.cancel()

    async def run(self) -> None:
        with self._scope:
            async with anyio.create_task_group() as tasks:
                while True:
                    changed = self._wakeup.changed
                    delay = STORAGE_RETRY
                    try:
                        await self._start_due_jobs(tasks)
                        delay = min(self._upcoming, self._retry)
                        if delay < math.inf:
                            delay = max(0.0, (delay - self.clock()) / 1000)
                    except JournalError as error:
                        report_failure(error)
                    with anyio.move_on_after(delay) as waiting:
                        await changed.wait()
                        await anyio.sleep(GATHERED)
                    if waiting.cancelled_caught:
                        self._changed.add(None)

    async def _start_due_jobs(self, tasks: TaskGroup) -> None:
        """Start the due jobs of changed agents; after a job, look for all agents' jobs."""
        changed, self._changed = self._changed, set()
        if self._retry <= self.clock():
            self._retry = math.inf
        busy = {*self._busy}  # a job that ends meanwhile looks due; then comes another search
        searches = self._list_searches(changed)
        if not searches:
            return
        try:
            due, upcoming = await self.calls.store.read(_list_due_jobs, searches, self.clock())
        except JournalError:
            self._changed |= changed
            raise
        self._upcoming = min(upcoming, math.inf if None in changed else self._upcoming)
        for job in due:
            if len(self._busy) == AT_ONCE:
                return
            tried = job.kind == "compaction" and job.tokens <= self._failed.get(job.session_id, 0)
            if tried or job.name in busy | self._busy:
                continue
            if not self.servers.is_idle(job.agent.agent_id, embeds=job.kind == "embedding"):
                self._upcoming = min(self._upcoming, self.clock() + WAIT)
            else:
                self._busy.add(job.name)
                self.servers.jobs[job.agent.agent_id] += 1
                tasks.start_soon(self._run_job, job)

    def _list_searches(self, changed: Collection[str | None]) -> list[_JobSearch]:
        """List the searches for changed agents."""
        searches, slots, file = [], self.calls.supervisor.slots, self.agents()
        named = (file.find_agent(name) for name in changed if name is not None)
        for agent in file.agents if None in changed else filter(None, named):
            slot = slots.get(agent.agent_id)
            if slot is None:
                continue
            works = agent.compaction.enabled or agent.fact_extraction.enabled
            thinks = works and slot.spec.endpoint.provider != "demo"
            # A job starts a process, but not for a server that is away.
            failed = self.vectors.failures.get(agent.agent_id, 0) >= TRIES
            embeds = agent.embeddings is not None and (slot.worker is not None or not failed)
            if embeds and not self.embeddings.is_ready(agent, agent.agent_id):
                embeds = False
                if not failed:  # a worker that waits may leave
                    self._retry = min(self._retry, self.clock() + REST)
            if thinks or embeds:
                backlog = embeds and self.vectors.has_backlog(agent)
                searches.append(_JobSearch(agent, thinks, embeds, slot.window, backlog))
        return searches

    async def _run_job(self, job: MaintenanceJob) -> None:
        with bound(agent_id=job.agent.agent_id, session=job.session_id):
            try:
                if job.kind == "embedding":
                    await self.vectors.embed_memory(job.agent)
                elif job.kind == "compaction":
                    await self._compact_session(job)
                else:
                    await self._extract_facts(job)
                    self.learned()
            except GaveWay:
                self._failed.pop(job.session_id, None)
            except InputTooLong:
                pass  # a summary is tried again when the session has grown
            except JournalError as error:
                await retry_later(error)
            finally:
                self._busy.discard(job.name)
                self.servers.jobs[job.agent.agent_id] -= 1
                self.wake()

    async def _compact_session(self, job: MaintenanceJob) -> None:
        store = self.calls.store
        self._failed[job.session_id] = job.tokens
        keep = job.agent.compaction.keep_turns
        slot = self.calls.supervisor.slots.get(job.agent.agent_id)
        window = find_window(job.agent, None if slot is None else slot.window)
        most = min(due_sessions.PART, window.tokens // 2)  # the rest is for template and summary
        part = await store.transact(due_sessions.find_compaction_input, job.session_id, keep, most)
        if part is None:
            return
        request = memory_requests.CompactionRequest(messages=part.messages, summary=part.summary)
        size = due_sessions.estimate_tokens(part.messages) + len(part.summary or "") // 4
        answer = await self._call_model(
            job, size, memory_requests.SESSION_COMPACT, request, memory_requests.CompactionResult
        )
        if answer is None:
            return

        rules = self.calls.gate.build_rules()

        def keep_summary(db: Database) -> bool:
            rules.settle_work(db, job.agent.agent_id, job.name, answer)
            return bool(answer.summary) and due_sessions.store_summary(db, part, answer.summary)

        if await store.transact(keep_summary, owner=job.agent.agent_id):
            del self._failed[job.session_id]
        log.debug("session_compacted", messages=len(part.messages), **_build_log_fields(answer))

    async def _extract_facts(self, job: MaintenanceJob) -> None:
        store, now = self.calls.store, self.clock()
        max_turns = job.agent.fact_extraction.max_turns
        scoped = partial(turn_access.build_memory_scope, self.agents())
        part = await store.transact(
            due_sessions.find_unextracted_range,
            job.session_id,
            max_turns,
            scoped,
            owner=job.agent.agent_id,
        )
        if part is None:
            return
        request = due_sessions.build_extraction_request(part)
        known = sum(len(fact.fact) for fact in (*part.known, *part.notes))
        size = due_sessions.estimate_tokens(part.messages) + known // 4
        try:
            answer = await self._call_model(
                job, size, memory_requests.FACTS_EXTRACT, request, memory_requests.ExtractionResult
            )
        except InputTooLong:
            log.warning("upkeep_skipped", work=job.kind, turns=len(part.turns))
            keep_nothing = due_sessions.store_extracted_facts
            await store.transact(keep_nothing, part, (), now, owner=job.agent.agent_id)
            return
        if answer is None:
            wait = round(job.agent.fact_extraction.idle_minutes * 60_000)
            postpone = due_sessions.postpone_extraction
            await store.transact(postpone, job.session_id, now, wait, owner=job.agent.agent_id)
            return

        rules, now = self.calls.gate.build_rules(), self.clock()

        def keep_facts(db: Database) -> dict[str, int]:
            rules.settle_work(db, job.agent.agent_id, job.name, answer)
            found = answer.facts, now, answer.notes
            return due_sessions.store_extracted_facts(db, part, *found).count_rows()

        learned = await store.transact(keep_facts, owner=job.agent.agent_id)
        turns = len(part.turns)
        log.debug("facts_extracted", turns=turns, **learned, **_build_log_fields(answer))

    async def _call_model(
        self, job: MaintenanceJob, size: int, method: str, request: Frozen, expected: type[Answer]
    ) -> Answer | None:
        """Call the agent's model; return None if the call failed or is not allowed.

        Raises:
            GaveWay: a person needed the model's server.
            InputTooLong: the model cannot read so much.
        """
        agent_id = job.agent.agent_id
        call = MeteredCall(job.name, agent_id, agent_id, size + ANSWER)
        async with self.servers.give_way(agent_id) as gave_way:
            try:
                answer = await self.calls.ask_worker(call, method, request, expected)
            except OrchestratorError as error:
                cause = error.__cause__
                code = cause.code if isinstance(cause, RpcError) else 0
                if gave_way.is_set():
                    log.debug("upkeep_gave_way", work=job.kind)
                    failure: Exception | None = GaveWay()
                else:
                    log.warning("upkeep_failed", work=job.kind, problem=str(error))
                    failure = InputTooLong() if code == TOO_LONG else None
                answer = None
            else:
                failure = None
        if failure is not None:
            raise failure
        if answer is None:
            log.debug("upkeep_not_allowed", work=job.kind)
        return answer


def _list_due_jobs(
    db: Database, searches: Sequence[_JobSearch], now: int
) -> tuple[list[MaintenanceJob], float]:
    """Return the jobs that are due, and when others may be."""
    agents = {look.agent.agent_id: look.agent for look in searches}
    thinking = [look.agent for look in searches if look.thinks]
    limits = {
        look.agent.agent_id: compute_compaction_threshold(look.agent, look.window)
        for look in searches
        if look.thinks and look.agent.compaction.enabled
    }
    idle = {
        a.agent_id: round(a.fact_extraction.idle_minutes * 60_000)
        for a in thinking
        if a.fact_extraction.enabled
    }
    found = [
        MaintenanceJob("compaction", session_id, agents[agent_id], tokens)
        for session_id, agent_id, tokens in due_sessions.list_large_sessions(db, limits)
    ]
    quiet, upcoming = due_sessions.list_idle_sessions(db, idle, now)
    found += [
        MaintenanceJob("extraction", session, agents[agent_id]) for session, agent_id in quiet
    ]
    found += [
        MaintenanceJob("embedding", 0, look.agent)
        for look in searches
        if look.embeds and (look.backlog or embedding_jobs.lacks_vectors(db, look.agent))
    ]
    return found, math.inf if upcoming is None else upcoming


def _build_log_fields(answer: background.MeteredResult) -> dict[str, object]:
    return {"model": answer.model, "tokens": answer.usage.total, "problem": answer.problem}
