"""What differs between turns by where they come from. This is a person's message.

Others override it: `task_turn`, `hook_turn`, `api_turn` and `subagent_turn`. A recipe only reads
what it was made with, so its methods are safe inside transactions.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Self

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import QuarantinedError
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import (
    attachments,
    cancellations,
    inbox,
    outbox,
    sessions,
    subagents,
    taint,
    transcript,
    turns,
)
from orchestrator.journal.turns.outbox import Address, Part
from orchestrator.journal.turns.transcript import TurnTranscript
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Reply
from orchestrator.outbound.preview import Preview
from orchestrator.outbound.spoken_words import spoken_words
from orchestrator.processes.worker import Worker
from orchestrator.turns.live_links import HINT, LinkGuard
from orchestrator.turns.outcomes import AgentQuarantined, Outcome, Suspended, failed
from orchestrator.turns.turn_host import TurnHost, TurnServices
from orchestrator.turns.turn_inputs import (
    WINDOW,
    Gathered,
    LoopFacts,
    TurnInputs,
    reserve_and_gather,
)
from thinker.protocol.environments import Environments
from thinker.protocol.methods import TurnResult, TurnRun
from thinker.protocol.names import turn_name

ANSWER = "answer"  # the file of a spoken one, which gets an ending when it is made


class Recipe:
    """The turn of a person's message."""

    shown = True  # the chat sees the answer while it grows
    limited = True  # the turn counts towards its agent's maxConcurrentTurns

    def __init__(self, services: TurnServices, turn: Turn) -> None:
        self._services = services
        self._formats = services.delivery.formats
        agent = services.inputs.agents().agent(turn.agent_id)
        self._guards_links = agent is None or agent.provenance == "on"
        self._speaks = "never"
        if agent is not None and agent.voice is not None and agent.voice.speak is not None:
            self._speaks = agent.voice.speak.when
        self.turn = turn

    @classmethod
    async def of(cls, services: TurnServices, turn: Turn) -> Self:
        """Return the recipe of a turn, with what the journal has for it.

        Raises:
            JournalError: the journal cannot be read.
        """
        return cls(services, turn)

    def definition(self) -> AgentDefinition:
        """Return the agent as this turn sees it now.

        Raises:
            UnknownAgentError: agents.json has no such agent any more.
        """
        return self._services.inputs.definition(self.turn.agent_id)

    def environments(self, definition: AgentDefinition, address: Address) -> Environments:
        return self._services.inputs.environments(definition, address)

    def worker(self, definition: AgentDefinition) -> AbstractAsyncContextManager[Worker]:
        return self._services.supervisor.using(definition.agent_id)

    def preview(self, address: Address) -> AbstractContextManager[Preview | None]:
        if not self.shown:
            return nullcontext()
        return self._services.delivery.preview(self.turn.id, address)

    @staticmethod
    def gather(
        db: Database,
        turn: Turn,
        definition: AgentDefinition,
        facts: LoopFacts,
        embedding: Embedding | None,
    ) -> Gathered:
        """Return the turn's inputs, the pause it must wait for, or the pictures to fetch first."""
        return reserve_and_gather(db, turn, definition, facts, embedding)

    def request(self, inputs: TurnInputs, environments: Environments) -> TurnRun:
        return self._services.inputs.turn_run(inputs, environments)

    async def run_on(self, worker: Worker, run: TurnRun, host: TurnHost) -> TurnResult:
        """Let a worker run the turn.

        Raises:
            WorkerLostError: the worker died or hung.
            WorkerError: it answered with an error.
        """
        return await worker.run_turn(run, host, self._services.inputs.clock() / 1000)

    async def without_worker(self, hosted: Callable[[TurnInputs], TurnHost]) -> Outcome | None:
        """Run the turn if it needs no model; None when it needs one."""
        del hosted
        return None

    def quarantined(self, error: QuarantinedError, *, again: bool) -> Outcome:
        """Return how an attempt ends while the agent's worker may not be started."""
        if error.final:
            return failed(chat_texts.NO_START, str(error))
        return Suspended(AgentQuarantined(error, again))

    def reply(self, db: Database, result: TurnResult) -> Reply | None:
        """Commit T6: outbox rows, the end of turn and message, the session."""
        turn, now, formats = self.turn, self._services.inputs.clock(), self._formats
        known = transcript.read(db, turn.id)
        origin = known.rows[0]
        address = origin.address()
        uncertain = self._end_subagents(db, known)
        late = outbox.pop_unconfirmed(db, address.chat_key, now)
        answer = self._without_live_links(db, result.text)
        text = chat_texts.compose(answer, late, uncertain)
        reply_to = None if address.private or origin.internal else origin.message_id
        texts = formats.split(address.channel, text)
        texts = texts or formats.split(address.channel, chat_texts.NOTHING)
        parts = [Part(part.text, rendered=part.rendered, reply_to=reply_to) for part in texts]
        mode = formats.mode(address)
        words = spoken_words(answer) if self._is_spoken(db, address) else ""
        if words:
            parts.append(Part(words, markdown=False, file_name=ANSWER, voice=True))
        self._close(db, result, parts, mode, known)
        return Reply(address, "direct" if words else mode)

    def _is_spoken(self, db: Database, address: Address) -> bool:
        """Return whether the answer is spoken, too."""
        if self._speaks == "never" or not self._formats.takes_files(address.channel):
            return False
        return self._speaks == "always" or attachments.spoken(db, self.turn.id)

    def _end_subagents(self, db: Database, known: TurnTranscript) -> list[str]:
        """Cancel the subagents that calls wait for; return what may have happened."""
        if not (known.calls or any(row.kind == inbox.RESULT for row in known.rows)):
            return []
        cancellations.cancel_awaited(db, self.turn.id, self._services.inputs.clock())
        return subagents.unconfirmed(db, self.turn.id)

    def _without_live_links(self, db: Database, text: str) -> str:
        """Return a reply whose links carry nothing out of a turn that has read both."""
        if HINT.search(text) is None or not self._guards_links:
            return text
        read = taint.load(db, self.turn.id)
        if not (read.untrusted and read.private):
            return text
        turn = self.turn
        known = transcript.read(db, turn.id)
        said = (row.said(db) for row in known.began_with)
        history = sessions.window(db, turn.session_id, WINDOW)
        guard = LinkGuard.of_turn(said, history, known.steps)
        return guard.defused(text)

    def _close(
        self,
        db: Database,
        result: TurnResult,
        parts: list[Part],
        mode: str,
        known: TurnTranscript | None = None,
    ) -> None:
        """Close the turn with these outbox rows."""
        end, now = (result.stop_reason, result.error), self._services.inputs.clock()
        turns.reply(db, self.turn, parts, mode, end, now, repaired=result.repaired, known=known)

    def dead_letter(self, db: Database, deaths: int, reason: str) -> None:
        now = self._services.inputs.clock()
        cancellations.cancel_awaited(db, self.turn.id, now)
        notice = chat_texts.POISON.format(deaths=deaths, turn=turn_name(self.turn.id))
        turns.dead_letter(db, self.turn, reason, notice, now)

    def ended(self) -> None:
        """Clean up after the turn has left this process, whether it ended or not."""
