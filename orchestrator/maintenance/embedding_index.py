"""What texts mean, for agents that have an embeddings model; nothing is asked for the others.

Their workers ask it. A turn waits a second at most: after that it goes on with what words alone
find, while the request may still end and serve the next one. A failure is told once and is left
alone for a minute; it is never an error of the turn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import OrchestratorError
from orchestrator.journal.memory import fact_vectors
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.processes.worker import Worker
from orchestrator.spending.metered_calls import MeteredCall, MeteredCalls
from thinker.protocol.background import EMBEDDED, LONGEST, TEXTS_EMBED, Embed, Embedded
from thinker.protocol.messages import ToolSpec

PATIENCE = 1.0  # seconds that a turn waits
REST = 60.0  # seconds without a request after one that failed
log = structlog.get_logger()


@dataclass(frozen=True)
class EmbedToolsRequest:
    """A worker, and tools of whose descriptions it is to have vectors."""

    worker: Worker
    tools: Callable[[], Sequence[ToolSpec]]


class EmbeddingIndex:
    """Asks for vectors, within bounds, until cancelled or closed; ``clock`` tells seconds."""

    def __init__(self, background: MeteredCalls, clock: Callable[[], float]) -> None:
        self._background = background
        self._tasks: TaskGroup | None = None  # None: nothing may be begun
        self._clock = clock
        self._numbers = count(1)
        self._rests: dict[str, float] = {}  # agents: until when their model is left alone
        self._warned: set[str] = set()

    async def run(self) -> None:
        """Own the requests: they may outlive the turn that wanted them."""
        async with anyio.create_task_group() as self._tasks:
            await anyio.sleep_forever()

    def close(self) -> None:
        """Let go of what is in hand, so that no worker is kept by it."""
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            tasks.cancel_scope.cancel()

    def ready(self, definition: AgentDefinition, payer: str) -> bool:
        """Whether an agent's model may be asked now."""
        resting = self._clock() < self._rests.get(payer, 0.0)
        return definition.embeddings is not None and not resting

    async def meaning(
        self,
        definition: AgentDefinition,
        payer: str,
        text: str,
        equipped: EmbedToolsRequest | None = None,
    ) -> Embedding | None:
        """What a text means to an agent; None when it has no model, or none that says so in time.

        ``payer`` is who has what it takes counted: the parent of a subagent. A turn also names its
        worker and the tools of which that is to have vectors.
        """
        tasks = self._tasks
        if tasks is None or not text.strip() or not self.ready(definition, payer):
            return None
        found: list[Embedding] = []
        said, all_done = anyio.Event(), anyio.Event()
        tasks.start_soon(self._look, definition, payer, text, found, said)
        if equipped is None:
            all_done.set()
        else:
            tasks.start_soon(self._equip, definition, payer, equipped, all_done)
        with anyio.move_on_after(PATIENCE):
            await said.wait()
            await all_done.wait()
        if not said.is_set():  # unless it does end well, the next turns do not wait as long
            self._rests[payer] = self._clock() + REST
            self._warn(payer, f"no answer within {PATIENCE:g} s")
        elif found:
            self._warned.discard(payer)
        return found[0] if found else None

    async def fill(self, definition: AgentDefinition) -> None:
        """Ask for vectors of facts that have none, some at a time.

        Raises:
            JournalError: they cannot be stored.
        """
        agent_id, store = definition.agent_id, self._background.store
        facts = await store.transact(fact_vectors.lacking, agent_id, EMBEDDED)
        answer = await self._ask(definition, agent_id, [fact for _, fact in facts])
        if answer is not None:
            found = [(*fact, vector) for fact, vector in zip(facts, answer.vectors, strict=True)]
            await store.transact(fact_vectors.keep, agent_id, answer.model, found)
            log.info("facts_embedded", agent_id=agent_id, facts=len(found), model=answer.model)

    async def _look(
        self,
        definition: AgentDefinition,
        payer: str,
        text: str,
        found: list[Embedding],
        said: anyio.Event,
    ) -> None:
        answer = await self._ask(definition, payer, [text])
        found += [Embedding(answer.model, vector) for vector in answer.vectors] if answer else ()
        said.set()

    async def _equip(
        self, definition: AgentDefinition, payer: str, equip: EmbedToolsRequest, done: anyio.Event
    ) -> None:
        """Have a worker keep vectors of the tools that it does not know yet."""
        known = equip.worker.embedded
        texts = list(dict.fromkeys(tool.about for tool in equip.tools() if tool.about not in known))
        known.update(texts)  # so that a turn beside this one does not ask as well
        for start in range(0, len(texts), EMBEDDED):
            part = texts[start : start + EMBEDDED]
            if await self._ask(definition, payer, part, keep=True) is None:
                known.difference_update(texts[start:])
                break
        done.set()

    async def _ask(
        self, definition: AgentDefinition, payer: str, texts: Sequence[str], *, keep: bool = False
    ) -> Embedded | None:
        """Vectors of texts, counted; None when there are none, and then none for a while."""
        background, name = self._background, f"embedding/{next(self._numbers)}"
        size = sum(min(len(text), LONGEST) for text in texts) // 4 + 1
        work = MeteredCall(name, payer, definition.agent_id, size)
        request = Embed(texts=tuple(texts), keep=keep)
        try:
            answer = await background.ask(work, TEXTS_EMBED, request, Embedded)
            if answer is not None:
                await background.store.transact(background.gate.settle_work, payer, name, answer)
        except OrchestratorError as error:
            self._warn(payer, str(error))
            answer = None
        self._rests[payer] = 0.0 if answer else self._clock() + REST
        return answer

    def _warn(self, agent_id: str, problem: str) -> None:
        """Once, until there is an answer in time again."""
        if agent_id not in self._warned:
            self._warned.add(agent_id)
            log.warning("embeddings_unavailable", agent_id=agent_id, problem=problem)
