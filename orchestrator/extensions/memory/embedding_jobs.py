"""Embed what an agent remembers: its facts, and its messages if its embeddings say so.

A job embeds slices of messages until a turn needs a server of this machine, so that an answer never
waits for more than one slice.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import structlog

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.extensions.memory import embedded_facts, message_vectors
from orchestrator.extensions.memory.local_servers import LocalServers
from orchestrator.extensions.memory.message_vectors import Coverage, SpokenText
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal_address import JournalAddress
from orchestrator.turns.embedding_index import SLOW, EmbeddingIndex
from thinker.protocol.background import MAX_EMBEDDED_TEXTS, EmbeddingResult

SLICE = 16  # messages in a request: a second of one core for a small model of this machine
SLICES = 20  # in one job, so that other agents have their turn
log = structlog.get_logger()


@dataclass(eq=False)
class EmbeddingJobs:
    """Embeds facts and messages of agents.

    ``coverage`` is how far those agents have come whose older messages may lack vectors, by agent;
    ``failures`` counts the requests in a row that got no answer, by agent.
    """

    store: Store
    embeddings: EmbeddingIndex
    servers: LocalServers
    coverage: dict[str, Coverage] = field(default_factory=dict, init=False)
    failures: Counter[str] = field(default_factory=Counter, init=False)
    _complete: set[tuple[str, str]] = field(default_factory=set, init=False)

    def has_backlog(self, agent: AgentDefinition) -> bool:
        """Return whether older messages of the agent may lack vectors of its current model."""
        return _embeds_messages(agent) and _name_vectors(agent) not in self._complete

    def forget_failures(self) -> None:
        """Let failures of before count no longer, as their cause may be gone."""
        self.failures.clear()
        self.embeddings.problems.clear()

    async def embed_memory(self, agent: AgentDefinition) -> None:
        """Embed some of the facts and messages that have no vector yet."""
        await self._count_coverage(agent)
        if await self._embed_facts(agent) and _embeds_messages(agent):
            await self._embed_messages(agent)

    async def _embed_facts(self, agent: AgentDefinition) -> bool:
        """Embed some facts; return whether the model answers, as far as is known."""
        agent_id, store = agent.agent_id, self.store
        facts = await store.transact(
            embedded_facts.list_facts_without_vector,
            agent_id,
            MAX_EMBEDDED_TEXTS,
            owner=agent_id,
        )
        if not facts:
            return True
        texts = [fact for _, fact in facts]
        answer = await self._request_vectors(agent, texts)
        if answer is None:
            return False
        found = [(*fact, vector) for fact, vector in zip(facts, answer.vectors, strict=True)]
        await store.transact(
            embedded_facts.store_vectors, agent_id, answer.model, found, owner=agent_id
        )
        log.debug("facts_embedded", agent_id=agent_id, facts=len(found), model=answer.model)
        return True

    async def _embed_messages(self, agent: AgentDefinition) -> None:
        """Embed some messages: those that are new, then older ones, the newest of them first."""
        agent_id, model = _name_vectors(agent)
        stored = 0
        for _ in range(SLICES):
            spoken = await self._list_next_messages(agent)
            if not spoken:
                break
            texts = [text for _, text in spoken]
            answer = await self._request_vectors(agent, texts)
            if answer is None:
                break
            vectors = zip(spoken, answer.vectors, strict=True)
            found = {message.message_id: vector for message, vector in vectors}
            await self._store_vectors(agent_id, answer.model, found)
            stored += len(found)
            self._add_coverage(agent_id, len(found))
            if self.servers.is_needed(agent_id, embeds=True):
                break
        if not self.has_backlog(agent):
            self.coverage.pop(agent_id, None)
        log.debug("messages_embedded", agent_id=agent_id, messages=stored, model=model)

    async def _count_coverage(self, agent: AgentDefinition) -> None:
        """Count once a job, since every message of the agent is read."""
        if self.has_backlog(agent):
            count = message_vectors.count_coverage
            self.coverage[agent.agent_id] = await self.store.read(count, *_name_vectors(agent))
        else:
            self.coverage.pop(agent.agent_id, None)

    def _add_coverage(self, agent_id: str, vectors: int) -> None:
        if known := self.coverage.get(agent_id):
            self.coverage[agent_id] = known._replace(vectors=known.vectors + vectors)

    async def _request_vectors(
        self, agent: AgentDefinition, texts: list[str]
    ) -> EmbeddingResult | None:
        answer = await self.embeddings.request_vectors(agent, agent.agent_id, texts)
        if answer is None:
            self.failures[agent.agent_id] += 1
        else:
            self.failures.pop(agent.agent_id, None)
            if self.embeddings.problems.get(agent.agent_id, SLOW) != SLOW:
                del self.embeddings.problems[agent.agent_id]
        return answer

    async def _list_next_messages(self, agent: AgentDefinition) -> list[SpokenText]:
        agent_id, model = _name_vectors(agent)
        new = message_vectors.list_new_messages
        if found := await self.store.read(new, agent_id, model, SLICE):
            return found
        if self.has_backlog(agent):
            old = message_vectors.list_old_messages
            if found := await self.store.read(old, agent_id, model, SLICE):
                return found
            self._complete.add((agent_id, model))
        return []

    async def _store_vectors(self, agent_id: str, model: str, found: dict[int, bytes]) -> None:
        """Store vectors, after those of another model have gone."""
        meaning = Embedding(model, next(iter(found.values())))
        store = partial(self.store.transact, owner=agent_id)
        while await store(message_vectors.delete_stale_vectors, agent_id, meaning):
            self._complete.discard((agent_id, model))
        await store(message_vectors.store_vectors, agent_id, model, found)


def lacks_vectors(db: Database, agent: AgentDefinition) -> bool:
    """Return whether a fact or a new message of the agent has no vector."""
    if embedded_facts.list_facts_without_vector(db, agent.agent_id, 1):
        return True
    return _embeds_messages(agent) and bool(
        message_vectors.list_new_messages(db, *_name_vectors(agent), 1)
    )


def list_coverage(
    journal: JournalAddress, agents: Iterable[AgentDefinition]
) -> list[tuple[str, Coverage]]:
    """Return the coverage of each agent whose messages are embedded; empty without a journal."""
    wanted = [_name_vectors(agent) for agent in agents if agent.enabled and _embeds_messages(agent)]
    if not wanted:
        return []
    with suppress(JournalError), open_for_reading(journal) as db:
        count = message_vectors.count_coverage
        return [(name, count(db, name, model)) for name, model in wanted]
    return []


def _embeds_messages(agent: AgentDefinition) -> bool:
    return agent.embeddings is not None and agent.embeddings.messages


def _name_vectors(agent: AgentDefinition) -> tuple[str, str]:
    """Return the agent and the model, which tell vectors that can be compared."""
    return agent.agent_id, "" if agent.embeddings is None else agent.embeddings.name
