"""Embed text for agents with an embeddings model.

The agents' workers make the requests. A turn waits a second at most; then it uses only keyword
search, while the request may still finish and serve the next turn. A failure is logged once and
pauses requests for a minute; it never fails the turn.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import OrchestratorError
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.loop_bound import LoopBound
from orchestrator.processes.worker import Worker
from orchestrator.spending.metered_calls import MeteredCall, MeteredCalls
from thinker.protocol.background import (
    MAX_EMBEDDED_CHARACTERS,
    MAX_EMBEDDED_TEXTS,
    TEXTS_EMBED,
    EmbeddingRequest,
    EmbeddingResult,
)
from thinker.protocol.messages import ToolSpec

WAIT_SECONDS = 1.0  # seconds that a turn waits for an embedding
SLOW = f"no answer within {WAIT_SECONDS:g} s"
PAUSE_SECONDS = 60.0  # seconds without requests after a failed one
log = structlog.get_logger()


class EmbedToolsRequest(NamedTuple):
    """A worker, and the tools whose descriptions it should embed."""

    worker: Worker
    tools: Callable[[], Sequence[ToolSpec]]


@dataclass(eq=False)
class EmbeddingIndex(LoopBound):
    """Requests vectors until cancelled or closed; ``clock`` returns seconds.

    ``problems`` says, by agent, why the last answer to a turn did not come, or not in time.
    """

    calls: MeteredCalls
    clock: Callable[[], float]
    _tasks: TaskGroup | None = field(default=None, init=False)  # None while no request may start
    # Keyed by agent: the time until which no requests are made.
    _rests: dict[str, float] = field(default_factory=dict, init=False)
    problems: dict[str, str] = field(default_factory=dict, init=False)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1), init=False)

    async def run(self) -> None:
        """Run the requests, which may outlive their turns."""
        async with anyio.create_task_group() as self._tasks:
            await anyio.sleep_forever()

    def close(self) -> None:
        """Cancel open requests, so that they keep no worker alive."""
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            tasks.cancel_scope.cancel()

    def is_ready(self, definition: AgentDefinition, payer: str) -> bool:
        resting = self.clock() < self._rests.get(payer, 0.0)
        return definition.embeddings is not None and not resting

    async def embed(
        self,
        definition: AgentDefinition,
        payer: str,
        text: str,
        equip: EmbedToolsRequest | None = None,
    ) -> Embedding | None:
        """Embed text; return None without an embeddings model or an answer in time.

        ``payer`` is the agent charged for the tokens (a subagent's parent). ``equip`` also has the
        turn's worker embed the tools it does not know yet.
        """
        tasks = self._tasks
        if tasks is None or not text.strip() or not self.is_ready(definition, payer):
            return None
        found: list[Embedding] = []
        text_done, tools_done = anyio.Event(), anyio.Event()
        tasks.start_soon(self._embed_text, definition, payer, text, found, text_done)
        if equip is None:
            tools_done.set()
        else:
            tasks.start_soon(self._embed_tools, definition, payer, equip, tools_done)
        with anyio.move_on_after(WAIT_SECONDS):
            await text_done.wait()
            await tools_done.wait()
        if not text_done.is_set():  # the next turns do not wait, unless it still succeeds
            self._rests[payer] = self.clock() + PAUSE_SECONDS
            self._warn_once(payer, SLOW)
        elif found:
            self.problems.pop(payer, None)
        return found[0] if found else None

    async def request_vectors(
        self,
        definition: AgentDefinition,
        payer: str,
        texts: Sequence[str],
        *,
        keep: bool = False,
        question: bool = False,
    ) -> EmbeddingResult | None:
        """Embed strings and count the usage; on failure return None and pause requests."""
        calls, name = self.calls, f"embedding/{next(self._numbers)}"
        size = sum(min(len(text), MAX_EMBEDDED_CHARACTERS) for text in texts) // 4 + 1
        call = MeteredCall(name, payer, definition.agent_id, size)
        request = EmbeddingRequest(texts=tuple(texts), keep=keep, question=question)
        try:
            answer = await calls.ask_worker(call, TEXTS_EMBED, request, EmbeddingResult)
            if answer is not None:
                settle = calls.gate.build_rules().settle_work
                await calls.store.transact(settle, payer, name, answer)
        except OrchestratorError as error:
            self._warn_once(payer, str(error))
            answer = None
        self._rests[payer] = 0.0 if answer else self.clock() + PAUSE_SECONDS
        return answer

    async def _embed_text(
        self,
        definition: AgentDefinition,
        payer: str,
        text: str,
        found: list[Embedding],
        done: anyio.Event,
    ) -> None:
        answer = await self.request_vectors(definition, payer, [text], question=True)
        found += [Embedding(answer.model, vector) for vector in answer.vectors] if answer else ()
        done.set()

    async def _embed_tools(
        self, definition: AgentDefinition, payer: str, equip: EmbedToolsRequest, done: anyio.Event
    ) -> None:
        """Make a worker embed the tools that are new to it."""
        known = equip.worker.embedded
        texts = list(
            dict.fromkeys(
                tool.embedding_text for tool in equip.tools() if tool.embedding_text not in known
            )
        )
        known.update(texts)  # so that a concurrent turn does not request them again
        for start in range(0, len(texts), MAX_EMBEDDED_TEXTS):
            part = texts[start : start + MAX_EMBEDDED_TEXTS]
            if await self.request_vectors(definition, payer, part, keep=True) is None:
                known.difference_update(texts[start:])
                break
        done.set()

    def _warn_once(self, agent_id: str, problem: str) -> None:
        """Log a problem once, until a request succeeds in time again."""
        if agent_id not in self.problems:
            self.problems[agent_id] = problem
            log.warning("embeddings_unavailable", agent_id=agent_id, problem=problem)
