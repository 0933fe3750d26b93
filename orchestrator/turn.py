"""One turn between its admission and T6: gather, let a worker run it, reply.

The loop in `TurnRunner.run` is the recovery: when a worker dies, drains or is replaced, the same
turn goes to the next one, with the steps that are already in the journal.
"""

from collections.abc import Callable
from dataclasses import dataclass

import anyio
import apsw
import structlog

from orchestrator import replies
from orchestrator.approvals import ApprovalNeeded, Desk
from orchestrator.definitions import AgentDefinition, AgentsFile
from orchestrator.delivery import STORAGE_RETRY, Delivery, Preview
from orchestrator.errors import (
    JournalError,
    QuarantinedError,
    UnknownAgentError,
    WorkerError,
    WorkerLostError,
)
from orchestrator.hosttools.base import ToolContext
from orchestrator.journal import outbox, playbooks, steps, turns
from orchestrator.journal.approvals import Approval
from orchestrator.journal.outbox import Address, Part
from orchestrator.journal.recollection import Recollection, recollect
from orchestrator.journal.store import FencedError, Store
from orchestrator.journal.turns import Context, Turn
from orchestrator.launch import host_timezone, skill_directories
from orchestrator.settings import Settings
from orchestrator.supervisor import Supervisor
from orchestrator.tools import ToolRunner
from orchestrator.worker import Worker
from thinker.protocol.messages import ToolResult, UserMessage
from thinker.protocol.methods import (
    ChatRef,
    StepCommit,
    StepCommitted,
    StopReason,
    TurnResult,
    TurnRun,
)
from thinker.protocol.peer import FAILED, FENCED, RpcError

WINDOW = 50  # messages of history; seed 002
MAX_DEATHS = 3  # processes that one message may take with it (reliability.md §4.6)
log = structlog.get_logger()


@dataclass(frozen=True)
class Services:
    """The parts of the daemon that turns need. ``clock`` tells milliseconds since the epoch."""

    store: Store
    supervisor: Supervisor
    delivery: Delivery
    tools: ToolRunner
    desk: Desk
    settings: Settings
    environ: dict[str, str]
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    epoch: int


class TurnRunner:
    """Runs one turn; the host of whatever worker has it at the moment."""

    def __init__(self, services: Services, turn: Turn) -> None:
        self._with = services
        self._turn = turn
        self._definition: AgentDefinition | None = None
        self._address: Address | None = None
        self._preview: Preview | None = None
        self._told_quarantine = False
        self._over = False
        self._question: Approval | None = None

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
            result = None if self._over else _ended(replies.GONE)
        except WorkerLostError as error:
            await self._worker_died(error)
        except QuarantinedError as error:
            if error.final:
                result = _ended(replies.NO_START, str(error))
            else:
                await self._wait_out_quarantine(error)
        except WorkerError as error:
            if self._question is not None:
                await self._wait_for_word(self._question)
            else:
                log.error("turn_failed", problem=str(error))  # noqa: TRY400 - an expected end
                result = _ended(replies.BROKEN, str(error))
        if result is not None and result.stop_reason is StopReason.DRAINED:
            self._over = self._with.supervisor.stopping
            return None
        return result

    async def _attempt(self) -> TurnResult:
        """Send the turn to the agent's worker, which runs it to an end or to a step boundary."""
        services, turn = self._with, self._turn
        self._definition = services.agents().agent(turn.agent_id)
        if self._definition is None:
            raise UnknownAgentError(turn.agent_id)
        await services.tools.settled()
        async with services.supervisor.using(turn.agent_id) as worker:
            context, known = await services.store.transact(self._gather, self._definition)
            self._address = context.messages[0].address()
            async with services.delivery.preview(turn.id, self._address) as self._preview:
                run = self._turn_run(context, known, self._definition)
                return await self._on(worker, run)

    async def _on(self, worker: Worker, run: TurnRun) -> TurnResult:
        try:
            return await worker.run_turn(run, self, self._with.clock() / 1000)
        except WorkerLostError:
            if worker.asked and not worker.hung:
                return TurnResult(text="", stop_reason=StopReason.DRAINED)
            raise

    def _gather(
        self, db: apsw.Connection, definition: AgentDefinition
    ) -> tuple[Context, Recollection]:
        turn = self._turn
        running = self._with.tools.running(turn.id)
        context = turns.context(db, turn.id, running, WINDOW, self._with.clock())
        said = "\n".join(row.text for row in context.messages)
        playbooks.seed(db, turn.agent_id, turn.started_at)
        return context, recollect(db, turn.agent_id, said, definition.skills, turn.started_at)

    def _turn_run(
        self, context: Context, known: Recollection, definition: AgentDefinition
    ) -> TurnRun:
        first = context.messages[0]
        return TurnRun(
            turn_id=context.turn.id,
            chat=ChatRef(
                channel=first.channel,
                chat_id=first.chat_id,
                thread_id=first.thread_id or None,
                private=first.private,
            ),
            messages=tuple(UserMessage(content=row.text) for row in context.messages),
            history=context.history,
            summary=context.summary,
            profile_prompt=known.profile_prompt,
            memories=known.memories,
            playbooks=known.playbooks,
            skills=known.skills,
            steps=context.steps,
            tools=self._with.tools.offered(definition),
            recent_tools=context.recent_tools,
            stream=first.private,
            started_at=context.turn.started_at / 1000,
            deadline=context.turn.deadline / 1000,
        )

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

    def _reply(self, db: apsw.Connection, result: TurnResult) -> None:
        services, turn = self._with, self._turn
        origin = turns.origin(db, turn.id)
        address = origin.address()
        late = outbox.take_unconfirmed(db, address.chat_key, services.clock())
        text = replies.compose(result.text, late, steps.unconfirmed(db, turn.id))
        reply_to = None if address.private else origin.message_id
        split = services.delivery.split
        cut = split(address.channel, text) or split(address.channel, replies.NOTHING)
        parts = [Part(part, reply_to=reply_to) for part in cut]
        mode = services.delivery.mode(address)
        turns.reply(db, turn, parts, mode, (result.stop_reason, result.error), services.clock())

    async def _worker_died(self, error: WorkerLostError) -> None:
        """Count the death; the third gives the message up as poison."""
        services, turn = self._with, self._turn
        deaths = await services.store.transact(turns.process_died, turn.id)
        log.warning("turn_lost_its_worker", deaths=deaths, problem=str(error))
        if deaths < MAX_DEATHS:
            return
        notice = replies.POISON.format(deaths=deaths, turn=turn.id)
        await services.store.transact(turns.bury, turn, str(error), notice, services.clock())
        self._over = True
        services.delivery.wake()

    async def _wait_out_quarantine(self, error: QuarantinedError) -> None:
        log.warning("turn_waits", problem=str(error))
        if not self._told_quarantine:
            self._told_quarantine = True
            await self._with.store.transact(self._tell, replies.QUARANTINE)
            self._with.delivery.wake()
        await self._with.supervisor.available(self._turn.agent_id)
        await self._with.store.transact(turns.extend, self._turn, self._with.clock())

    async def _wait_for_word(self, question: Approval) -> None:
        """The turn leaves its worker until the operator answers; then it goes on as if resumed."""
        self._question = None
        await self._with.store.transact(turns.park, self._turn, "approval")
        self._with.delivery.wake()
        await self._with.desk.answered(question)
        self._over = self._with.supervisor.stopping
        if not self._over:
            await self._with.store.transact(turns.unpark, self._turn, self._with.clock())

    def _tell(self, db: apsw.Connection, text: str) -> None:
        outbox.add_notice(db, turns.origin(db, self._turn.id).address(), text, self._with.clock())

    # --- what the worker asks (TurnHost) ---------------------------------------------------

    async def commit(self, commit: StepCommit) -> StepCommitted:
        """T3, fenced by the epoch."""
        try:
            return await self._with.store.transact(
                steps.plan, commit, self._with.tools.classes(), self._with.epoch, self._with.clock()
            )
        except FencedError as error:
            raise RpcError(FENCED, str(error)) from error
        except JournalError as error:
            raise RpcError(FAILED, str(error)) from error

    async def call_tool(self, seq: int) -> ToolResult:
        """Policy, T4, effect, T5."""
        definition, address = self._definition, self._address
        if definition is None or address is None:
            raise RpcError(FENCED, "the turn is not running")
        services = self._with
        context = ToolContext(
            agent_id=self._turn.agent_id,
            turn_id=self._turn.id,
            address=address,
            now=services.clock(),
            timezone=definition.timezone or host_timezone(services.environ),
            skill_directories=skill_directories(self._turn.agent_id, services.settings),
            skills=definition.skills,
            split=services.delivery.split,
            mode=services.delivery.mode,
            store=services.store,
        )
        try:
            result = await services.tools.call(definition, context, seq, services.epoch)
        except ApprovalNeeded as needed:
            self._question = needed.approval
            raise RpcError(FENCED, str(needed)) from needed
        except JournalError as error:
            raise RpcError(FAILED, str(error)) from error
        services.delivery.wake()
        return result

    def show(self, text: str) -> None:
        """The answer so far."""
        if self._preview is not None:
            self._preview.show(text)


def _ended(text: str, error: str | None = None) -> TurnResult:
    return TurnResult(text=text, stop_reason=StopReason.MODEL_ERROR, error=error or text)
