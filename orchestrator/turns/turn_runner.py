"""One turn between its admission and T6: gather, let a worker run it, reply.

The loop in `TurnRunner.run` is the recovery: when a worker dies, drains or is replaced, the same
turn goes to the next one, with the steps that are already in the journal.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import anyio
import apsw
import structlog

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import (
    JournalError,
    QuarantinedError,
    UnknownAgentError,
    WorkerError,
    WorkerLostError,
)
from orchestrator.journal.db.store import STORAGE_RETRY, FencedError, retry_later
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import attachments, cancellations, outbox, subagents, turns, usage
from orchestrator.journal.turns.attachments import Wanted
from orchestrator.journal.turns.outbox import Address, Part
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Reply
from orchestrator.outbound.preview import Preview
from orchestrator.processes.worker import Worker
from orchestrator.turns import eager_subagents
from orchestrator.turns.suspension import TurnSuspension
from orchestrator.turns.turn_host import TurnHost, ended, shown
from orchestrator.turns.turn_inputs import (
    TurnInputs,
    TurnServices,
    embed_messages,
    load_inputs,
    turn_run,
)
from thinker.protocol.environments import Environments
from thinker.protocol.methods import StopReason, TurnResult, TurnRun

MAX_DEATHS = 3  # processes that one message may take with it (reliability.md §4.6)
FRESH = 1000  # milliseconds for which a pause that has begun since need not be looked for
log = structlog.get_logger()


class TurnRunner:
    """Runs one turn, in one attempt after the other."""

    def __init__(self, services: TurnServices, turn: Turn) -> None:
        self._services = services
        self._turn = turn
        self._host: TurnHost | None = None  # of the last attempt
        self._waits = TurnSuspension(services, turn)
        self._over = False
        self._first: tuple[AgentDefinition, TurnInputs] | None = None  # for the first attempt

    @property
    def shown(self) -> str:
        """The answer as far as its chat has seen it."""
        preview = None if self._host is None else self._host.preview
        return "" if preview is None else preview.text

    def begin(self, db: apsw.Connection) -> None:
        """Inside T2: gather at once, unless somebody has to be asked something before."""
        definition = self._services.agents().agent(self._turn.agent_id)
        if definition is None or definition.embeddings is not None:
            return
        if not self._services.prompts.immediate(definition):
            found = self._gather(db, definition, None)
            self._first = (definition, found) if isinstance(found, TurnInputs) else None

    async def run(self) -> None:
        """Bring the turn to T6, whatever happens to workers; or leave it open when we stop."""
        while not self._over:
            try:
                result = await self._outcome()
                if result is not None:
                    await self._finish(result)
            except FencedError as error:
                log.warning("turn_fenced", problem=str(error))
                return
            except JournalError as error:
                await retry_later(error)
            except Exception as error:  # a fault of ours, which must not be tried for ever
                log.exception("turn_broke")
                if not await self._broke_off(f"{type(error).__name__}: {error}"):
                    await anyio.sleep(STORAGE_RETRY)

    async def _outcome(self) -> TurnResult | None:
        """How the turn ends; None when it has to be tried again, or left open."""
        result: TurnResult | None = None
        try:
            result = await self._attempt()
        except UnknownAgentError:
            self._over = self._services.supervisor.stopping
            result = None if self._over else ended(chat_texts.GONE)
        except WorkerLostError as error:
            if not await self._ended_with_its_worker():
                await self._broke_off(str(error))
        except QuarantinedError as error:
            result = await self._quarantined(error)
        except WorkerError as error:
            host = self._host
            if host is not None and host.wait is not None:
                wait, host.wait = host.wait, None
                self._over = await wait()
            else:
                log.error("turn_failed", problem=str(error))
                result = ended(chat_texts.BROKEN, str(error))
        return None if self._over or result is None else await self._final(result)

    async def _final(self, result: TurnResult) -> TurnResult | None:
        """What a worker came to, unless the turn goes on later, or in another one."""
        if result.stop_reason is StopReason.ACCOUNT:
            await self._services.store.transact(
                self._services.gate.refused, self._turn, result.text
            )
            self._over = await self._waits.for_resume()
            return None
        if result.stop_reason is StopReason.DRAINED:
            if not await self._ended_with_its_worker():
                await self._services.store.transact(usage.release, self._turn.id)
                self._over = self._services.supervisor.stopping
            return None
        return result

    async def _ended_with_its_worker(self) -> bool:
        """Whether the last attempt came to T6, even if its worker did not live to hear of it."""
        last = None if self._host is None else self._host.last
        if last is None or self._over:
            return self._over
        turn = await self._services.store.transact(turns.load, self._turn.id)
        if turn.state in ("replied", "closed"):
            self.replied(last, None)
        return self._over

    async def _quarantined(self, error: QuarantinedError) -> TurnResult | None:
        """What becomes of the turn while no worker of its agent may be started."""
        if error.final:
            return ended(chat_texts.NO_START, str(error))
        await self._waits.out_quarantine(error)
        return None

    async def _attempt(self) -> TurnResult | None:
        """Send the turn to the agent's worker, which runs it to an end or to a step boundary.

        None when the agent is paused: the turn waited, and is to be tried again.
        """
        services = self._services
        await services.tools.settled()
        if self._host is not None:
            await self._renew()
        definition = self._current()
        async with self._worker(definition) as worker:
            found = await self._gathered(definition, worker)
            if isinstance(found, TurnInputs):
                address = found.context.messages[0].address()
                async with shown(services, self._turn, address) as preview:
                    host = self._hosted(definition, address, preview)
                    host.run = self._request(found, definition)
                    return await self._on(worker, host.run, host)
        self._over = await self._waits.for_resume()
        return None

    async def _gathered(self, definition: AgentDefinition, worker: Worker) -> TurnInputs | Pause:
        """What T2 has gathered for this agent, if that was just now; else gathered anew."""
        services, first = self._services, self._first
        self._first = None
        fresh = services.clock() - self._turn.started_at < FRESH
        if fresh and first is not None and first[0] is definition:
            return first[1]
        meaning = await embed_messages(services, self._turn, definition, worker)
        while isinstance(
            found := await services.store.transact(self._gather, definition, meaning), list
        ):
            await services.pictures.fetch(found)
        return found

    async def _renew(self) -> None:
        """An earlier attempt may have handed the turn over to another agent."""
        turn = await self._services.store.transact(turns.load, self._turn.id)
        if turn.agent_id != self._turn.agent_id:
            self._turn = replace(self._turn, agent_id=turn.agent_id)
            self._waits = TurnSuspension(self._services, self._turn)

    def _hosted(
        self, definition: AgentDefinition, address: Address, preview: Preview | None = None
    ) -> TurnHost:
        known = self._environments(definition, address)
        self._host = TurnHost(
            self._services, self._turn, definition, address, self._waits, self, known, preview
        )
        return self._host

    def _worker(self, definition: AgentDefinition) -> AbstractAsyncContextManager[Worker]:
        """The process that runs the turn."""
        return self._services.supervisor.using(definition.agent_id)

    def _gather(
        self, db: apsw.Connection, definition: AgentDefinition, meaning: Embedding | None
    ) -> TurnInputs | Pause | list[Wanted]:
        """What the worker needs; what its first model call may take is set aside.

        Or the pause in which the turn has to wait, or the pictures that must be fetched before.
        """
        obstacle = self._services.gate.holds(db, self._turn) or attachments.wanted(
            db, self._turn.id
        )
        if obstacle:
            return obstacle
        self._services.gate.reserve(db, self._turn)
        wanted = self._services.prompts.immediate(definition)
        if wanted:
            known = self._environments(definition, turns.origin(db, self._turn.id).address())
            values = self._services.prompts.values(definition, known)
            eager_subagents.plan(db, self._services, self._turn, definition, wanted, values)
        return load_inputs(db, self._services, self._turn, definition, meaning)

    def _current(self) -> AgentDefinition:
        """The agent as it is configured now."""
        definition = self._services.agents().agent(self._turn.agent_id)
        if definition is None:
            raise UnknownAgentError(self._turn.agent_id)
        return definition

    def _environments(self, definition: AgentDefinition, address: Address) -> Environments:
        """What variables are set to where this turn answers."""
        return self._services.prompts.environments(definition, self._services.agents(), address)

    def _request(self, gathered: TurnInputs, definition: AgentDefinition) -> TurnRun:
        known = self._environments(definition, gathered.context.messages[0].address())
        return turn_run(self._services, gathered, definition, known)

    async def _on(self, worker: Worker, run: TurnRun, host: TurnHost) -> TurnResult:
        try:
            return await worker.run_turn(run, host, self._services.clock() / 1000)
        except WorkerLostError:
            if worker.asked and not worker.hung:
                return TurnResult(text="", stop_reason=StopReason.DRAINED)
            raise

    # --- how an attempt ends ---------------------------------------------------------------

    async def _finish(self, result: TurnResult) -> None:
        """T6."""
        self.replied(result, await self._services.store.transact(self.reply, result))

    def replied(self, result: TurnResult, reply: Reply | None) -> None:
        """After T6: whoever waits for it is told."""
        services, turn = self._services, self._turn
        self._over = True
        log.info(
            "turn_replied",
            stop_reason=result.stop_reason,
            steps=result.steps,
            tools=list(result.tools_used),
            tokens=result.usage.total,
            ms=services.clock() - turn.started_at,
        )
        services.delivery.replied(reply)
        services.session_grew()

    def reply(self, db: apsw.Connection, result: TurnResult) -> Reply | None:
        """The inside of T6; which chat has its reply, None if that may be any."""
        services, turn = self._services, self._turn
        cancellations.cancel_awaited(db, turn.id, services.clock())
        origin = turns.origin(db, turn.id)
        address = origin.address()
        late = outbox.pop_unconfirmed(db, address.chat_key, services.clock())
        text = chat_texts.compose(result.text, late, subagents.unconfirmed(db, turn.id))
        reply_to = None if address.private or origin.ours else origin.message_id
        split = services.delivery.split
        cut = split(address.channel, text) or split(address.channel, chat_texts.NOTHING)
        parts = [Part(part, reply_to=reply_to) for part in cut]
        mode = services.delivery.mode(address)
        if result.stop_reason is not StopReason.DEADLINE:  # which ends a call that may be billed
            usage.release(db, turn.id)
        end = (result.stop_reason, result.error)
        turns.reply(db, turn, parts, mode, end, services.clock(), repaired=result.repaired)
        return Reply(address, mode)

    async def _broke_off(self, problem: str) -> bool:
        """Count the death, or what is as bad; the third gives the message up, as poison."""
        services, turn = self._services, self._turn
        deaths = await services.store.transact(turns.process_died, turn.id)
        log.warning("turn_lost_its_worker", deaths=deaths, problem=problem)
        if deaths < MAX_DEATHS:
            return False
        await services.store.transact(self._bury, deaths, problem)
        self._over = True
        services.delivery.wake()
        return True

    def _bury(self, db: apsw.Connection, deaths: int, reason: str) -> None:
        turn, now = self._turn, self._services.clock()
        cancellations.cancel_awaited(db, turn.id, now)
        notice = chat_texts.POISON.format(deaths=deaths, turn=turn.id)
        turns.dead_letter(db, turn, reason, notice, now)
