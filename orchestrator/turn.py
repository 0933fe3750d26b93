"""One turn between its admission and T6: gather, let a worker run it, reply.

The loop in `TurnRunner.run` is the recovery: when a worker dies, drains or is replaced, the same
turn goes to the next one, with the steps that are already in the journal.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

import anyio
import apsw
import structlog

from orchestrator import replies
from orchestrator.approvals import ApprovalNeeded
from orchestrator.definitions import AgentDefinition
from orchestrator.delivery import STORAGE_RETRY, Preview
from orchestrator.errors import (
    JournalError,
    QuarantinedError,
    UnknownAgentError,
    WorkerError,
    WorkerLostError,
)
from orchestrator.journal import cancellations, media, outbox, steering, steps, turns, usage
from orchestrator.journal.inbox import InboxRow
from orchestrator.journal.media import Wanted
from orchestrator.journal.outbox import Address, Part
from orchestrator.journal.pauses import Pause
from orchestrator.journal.store import FencedError
from orchestrator.journal.turns import Turn
from orchestrator.tools import WorkGoesOn
from orchestrator.turnrequest import Gathered, Services, agent_for, gather, tool_context, turn_run
from orchestrator.waits import Waits
from orchestrator.worker import Worker
from thinker.protocol.messages import ToolResult, UserMessage
from thinker.protocol.methods import (
    StepCommit,
    StepCommitted,
    StopReason,
    TurnResult,
    TurnRun,
)
from thinker.protocol.peer import FAILED, FENCED, RpcError

MAX_DEATHS = 3  # processes that one message may take with it (reliability.md §4.6)
log = structlog.get_logger()


class TurnRunner:
    """Runs one turn; the host of whatever worker has it at the moment."""

    def __init__(self, services: Services, turn: Turn) -> None:
        self._with = services
        self._turn = turn
        self._definition: AgentDefinition | None = None
        self._address: Address | None = None
        self._preview: Preview | None = None
        self._waits = Waits(services, turn)
        self._over = False
        self._wait: Callable[[], Awaitable[bool]] | None = None  # what it is to wait for

    @property
    def shown(self) -> str:
        """The answer as far as its chat has seen it."""
        return "" if self._preview is None else self._preview.text

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
                log.error("journal_failed", problem=str(error))  # noqa: TRY400 - tried again
                await anyio.sleep(STORAGE_RETRY)

    async def _outcome(self) -> TurnResult | None:
        """How the turn ends; None when it has to be tried again, or left open."""
        result: TurnResult | None = None
        try:
            result = await self._attempt()
        except UnknownAgentError:
            self._over = self._with.supervisor.stopping
            result = None if self._over else ended(replies.GONE)
        except WorkerLostError as error:
            await self._worker_died(error)
        except QuarantinedError as error:
            result = await self._quarantined(error)
        except WorkerError as error:
            wait, self._wait = self._wait, None
            if wait is not None:
                self._over = await wait()
            else:
                log.error("turn_failed", problem=str(error))  # noqa: TRY400 - an expected end
                result = ended(replies.BROKEN, str(error))
        if result is not None and result.stop_reason is StopReason.ACCOUNT:
            await self._with.store.transact(self._with.gate.refused, self._turn, result.text)
            self._over = await self._waits.for_resume()
            return None
        if result is not None and result.stop_reason is StopReason.DRAINED:
            await self._with.store.transact(usage.release, self._turn.id)
            self._over = self._with.supervisor.stopping
            return None
        return result

    async def _quarantined(self, error: QuarantinedError) -> TurnResult | None:
        """What becomes of the turn while no worker of its agent may be started."""
        if error.final:
            return ended(replies.NO_START, str(error))
        await self._waits.out_quarantine(error)
        return None

    async def _attempt(self) -> TurnResult | None:
        """Send the turn to the agent's worker, which runs it to an end or to a step boundary.

        None when the agent is paused: the turn waited, and is to be tried again.
        """
        services = self._with
        await services.tools.settled()
        definition = self._definition = self._current()
        pause, wanted = await services.store.transact(self._look)
        if pause is not None:
            self._over = await self._waits.for_resume()
            return None
        await services.pictures.fetch(wanted)
        async with self._worker(definition) as worker:
            gathered = await services.store.transact(self._gather, definition)
            self._address = gathered.context.messages[0].address()
            async with self._shown(self._address) as self._preview:
                return await self._on(worker, self._request(gathered, definition))

    def _worker(self, definition: AgentDefinition) -> AbstractAsyncContextManager[Worker]:
        """The process that runs the turn."""
        return self._with.supervisor.using(definition.agent_id)

    def _look(self, db: apsw.Connection) -> tuple[Pause | None, list[Wanted]]:
        """Why the turn has to wait, and what has to be fetched for it."""
        return self._with.gate.holds(db, self._turn), media.wanted(db, self._turn.id)

    def _gather(self, db: apsw.Connection, definition: AgentDefinition) -> Gathered:
        """What the worker needs; what its first model call may take is set aside."""
        self._with.gate.reserve(db, self._turn)
        return gather(db, self._with, self._turn, definition)

    def _current(self) -> AgentDefinition:
        """The agent as it is configured now."""
        definition = self._with.agents().agent(self._turn.agent_id)
        if definition is None:
            raise UnknownAgentError(self._turn.agent_id)
        return definition

    def _request(self, gathered: Gathered, definition: AgentDefinition) -> TurnRun:
        return turn_run(self._with, gathered, definition)

    def _shown(self, address: Address) -> AbstractAsyncContextManager[Preview | None]:
        """What the chat sees while the turn runs; of one that nobody waits for it sees nothing."""
        if self._turn.recipe != "interactive":
            return nullcontext()
        return self._with.delivery.preview(self._turn.id, address)

    async def _on(self, worker: Worker, run: TurnRun) -> TurnResult:
        try:
            return await worker.run_turn(run, self, self._with.clock() / 1000)
        except WorkerLostError:
            if worker.asked and not worker.hung:
                return TurnResult(text="", stop_reason=StopReason.DRAINED)
            raise

    # --- how an attempt ends ---------------------------------------------------------------

    async def _finish(self, result: TurnResult) -> None:
        """T6."""
        services, turn = self._with, self._turn
        await services.store.transact(self._reply, result)
        self._over = True
        log.info(
            "turn_replied",
            stop_reason=result.stop_reason,
            steps=result.steps,
            tools=list(result.tools_used),
            tokens=result.usage.total,
            ms=services.clock() - turn.started_at,
        )
        services.delivery.wake()
        services.session_grew()

    def _reply(self, db: apsw.Connection, result: TurnResult) -> None:
        services, turn = self._with, self._turn
        cancellations.cancel_awaited(db, turn.id, services.clock())
        origin = turns.origin(db, turn.id)
        address = origin.address()
        late = outbox.take_unconfirmed(db, address.chat_key, services.clock())
        text = replies.compose(result.text, late, steps.unconfirmed(db, turn.id))
        reply_to = None if address.private or origin.ours else origin.message_id
        split = services.delivery.split
        cut = split(address.channel, text) or split(address.channel, replies.NOTHING)
        parts = [Part(part, reply_to=reply_to) for part in cut]
        mode = services.delivery.mode(address)
        if result.stop_reason is not StopReason.DEADLINE:  # which ends a call that may be billed
            usage.release(db, turn.id)
        turns.reply(db, turn, parts, mode, (result.stop_reason, result.error), services.clock())

    async def _worker_died(self, error: WorkerLostError) -> None:
        """Count the death; the third gives the message up as poison."""
        services, turn = self._with, self._turn
        deaths = await services.store.transact(turns.process_died, turn.id)
        log.warning("turn_lost_its_worker", deaths=deaths, problem=str(error))
        if deaths < MAX_DEATHS:
            return
        await services.store.transact(self._bury, deaths, str(error))
        self._over = True
        services.delivery.wake()

    def _bury(self, db: apsw.Connection, deaths: int, reason: str) -> None:
        turn, now = self._turn, self._with.clock()
        cancellations.cancel_awaited(db, turn.id, now)
        notice = replies.POISON.format(deaths=deaths, turn=turn.id)
        turns.bury(db, turn, reason, notice, now)

    # --- what the worker asks (TurnHost) ---------------------------------------------------

    async def commit(self, commit: StepCommit) -> StepCommitted:
        """T3, fenced by the epoch. An agent that is paused with it goes no step further."""
        try:
            committed, pause = await self._with.store.transact(self._plan, commit)
        except JournalError as error:
            raise _refusal(error) from error
        if pause is not None:
            self._wait = self._waits.for_resume
            raise RpcError(FENCED, f"the agent is paused: {pause.reason}")
        return committed

    def _plan(self, db: apsw.Connection, commit: StepCommit) -> tuple[StepCommitted, Pause | None]:
        services = self._with
        classes = services.tools.classes()
        committed = steps.plan(db, commit, classes, services.epoch, services.clock())
        return committed, services.gate.settle(db, self._turn, commit)

    async def call_tool(self, seq: int) -> ToolResult:
        """Policy, T4, effect, T5."""
        definition, address = self._definition, self._address
        if definition is None or address is None:
            raise RpcError(FENCED, "the turn is not running")
        services = self._with
        context = tool_context(services, self._turn, definition, address)
        try:
            result = await services.tools.call(definition, context, seq, services.epoch)
        except ApprovalNeeded as needed:
            self._wait = partial(self._waits.for_word, needed.approval)
            raise RpcError(FENCED, str(needed)) from needed
        except WorkGoesOn as goes_on:
            self._wait = partial(self._for_work, seq, address)
            raise RpcError(FENCED, f"call {seq} goes on") from goes_on
        except JournalError as error:
            raise RpcError(FAILED, str(error)) from error
        services.delivery.wake()
        services.tasks_changed()
        return result

    async def _for_work(self, seq: int, address: Address) -> bool:
        async with self._shown(address):
            return await self._waits.for_work(seq)

    async def entered(self) -> tuple[UserMessage, ...]:
        """What the chat said meanwhile, if the agent wants to be steered by it."""
        try:
            turn = self._turn
            wanted = await self._with.store.transact(media.wanted, turn.id, turn.chat_key)
            await self._with.pictures.fetch(wanted)
            return await self._with.store.transact(steering.enter, self._turn, self._takes)
        except JournalError as error:
            raise _refusal(error) from error

    def _takes(self, row: InboxRow) -> bool:
        return agent_for(self._with.agents(), row) == self._turn.agent_id

    def show(self, text: str) -> None:
        """The answer so far."""
        if self._preview is not None:
            self._preview.show(text)


def _refusal(error: JournalError) -> RpcError:
    return RpcError(FENCED if isinstance(error, FencedError) else FAILED, str(error))


def ended(text: str, error: str | None = None) -> TurnResult:
    """The end of a turn that did not come to an answer."""
    return TurnResult(text=text, stop_reason=StopReason.MODEL_ERROR, error=error or text)
