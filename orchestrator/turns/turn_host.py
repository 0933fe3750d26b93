"""What a worker asks for the turn that it runs: commits, tool calls, messages, views."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import apsw
import structlog

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.turns import attachments, internal_messages, prompt_records, steps
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Reply
from orchestrator.outbound.preview import Preview
from orchestrator.routing import agent_for
from orchestrator.toolcalls.approvals import ApprovalNeeded
from orchestrator.toolcalls.authorization import CallContext
from orchestrator.toolcalls.executor import HandoffDone, ToolPending
from orchestrator.tools.builtin.host_tool import ToolContext
from orchestrator.turns.suspension import TurnSuspension
from orchestrator.turns.turn_inputs import TurnServices, tool_context
from thinker.protocol.environments import Environments
from thinker.protocol.logs import bound
from thinker.protocol.messages import ToolResult, UserMessage
from thinker.protocol.methods import StepCommit, StepCommitted, StopReason, TurnResult, TurnRun
from thinker.protocol.peer import FAILED, FENCED, RpcError

log = structlog.get_logger()


class TurnCompleter(Protocol):
    """Who ends a turn."""

    def reply(self, db: apsw.Connection, result: TurnResult) -> Reply | None:
        """The inside of T6; which chat has its reply, None if that may be any."""

    def replied(self, result: TurnResult, reply: Reply | None) -> None:
        """After T6."""


@dataclass(frozen=True)
class _Planned:
    """What T3 has come to.

    ``pause`` is the one in which the turn has to wait, ``told`` whether chats may have been told of
    one, ``reply`` that of the turn if it has ended.
    """

    committed: StepCommitted
    pause: Pause | None
    told: bool
    reply: Reply | None = None


@dataclass
class TurnHost:
    """Keeps a turn's journal during one attempt (`orchestrator.processes.worker.WorkerHost`).

    ``wait`` is what the turn has to wait for before the next one, once a request was refused
    because of that. ``last`` is what the turn ends with, once its last step has come.
    """

    services: TurnServices
    turn: Turn
    definition: AgentDefinition
    address: Address
    waits: TurnSuspension
    ending: TurnCompleter
    environments: Environments
    preview: Preview | None = None
    run: TurnRun | None = None  # what the worker was sent
    wait: Callable[[], Awaitable[bool]] | None = None
    last: TurnResult | None = None

    @cached_property
    def _context(self) -> ToolContext:
        return tool_context(
            self.services, self.turn, self.definition, self.address, self.environments
        )

    async def commit(self, commit: StepCommit) -> StepCommitted:
        """T3, fenced by the epoch. An agent that is paused with it goes no step further.

        The step that ends the turn ends it here, unless its chat already sees the answer grow.
        """
        last = commit.ends
        if last is not None and self.preview is not None and not self.preview.withdraw():
            last = None
        self.last = last
        services, turn = self.services, self.turn
        try:
            if last is None:
                planned = await services.store.transact(self._plan, commit)
            else:
                planned = await services.store.transact(self._reply, commit, last)
        except JournalError as error:
            raise _refusal(error) from error
        committed = planned.committed
        # The tasks of the wire know nothing of the turn.
        with bound(turn_id=turn.id, agent_id=turn.agent_id, chat_id=turn.chat_key):
            services.tools.made(committed.results)
            if committed.changed:
                log.info("prompt_changed", layers=committed.changed)
            if last is not None:
                self.ending.replied(last, planned.reply)
        if planned.told:
            services.delivery.wake()
        if planned.pause is not None:
            self.wait = self.waits.for_resume
            raise RpcError(FENCED, f"the agent is paused: {planned.pause.reason}")
        return committed

    def _reply(self, db: apsw.Connection, commit: StepCommit, last: TurnResult) -> _Planned:
        """T3 and T6; no agent waits for what it has answered."""
        planned = self._plan(db, commit)
        return replace(planned, pause=None, reply=self.ending.reply(db, last))

    def _plan(self, db: apsw.Connection, commit: StepCommit) -> _Planned:
        services, now = self.services, self.services.clock()
        committed = steps.plan(db, commit, services.tools.classes(), services.epoch, now)
        if commit.prompt is not None and self.run is not None:
            made_of = prompt_records.PromptSources(self.run.prompt, self.run.tools)
            prompt_records.keep(db, self.turn.id, now, made_of)
        pause, told = services.gate.settle(db, self.turn, commit)
        if pause is None and committed.call_seqs:
            results = services.tools.journal.run_local(db, self._caller(), committed.call_seqs)
            committed = committed.model_copy(update={"results": results})
        return _Planned(committed, pause, told)

    async def call_tool(self, seq: int) -> ToolResult:
        """Policy, T4, effect, T5."""
        services = self.services
        try:
            return await services.tools.call(self._caller(), seq)
        except ApprovalNeeded as needed:
            self.wait = partial(self.waits.for_word, needed.approval)
            raise RpcError(FENCED, str(needed)) from needed
        except ToolPending as goes_on:
            self.wait = partial(self._for_work, seq)
            raise RpcError(FENCED, f"call {seq} goes on") from goes_on
        except HandoffDone as handed_over:
            self.wait = self.waits.for_nothing
            raise RpcError(FENCED, "another agent goes on with the turn") from handed_over
        except JournalError as error:
            raise RpcError(FAILED, str(error)) from error

    def _caller(self) -> CallContext:
        context = replace(self._context, now=self.services.clock())
        given = () if self.run is None else self.run.tools
        handed_back = frozenset(tool.name for tool in given if tool.handed_back)
        return CallContext(self.definition, context, self.services.epoch, handed_back)

    async def _for_work(self, seq: int) -> bool:
        async with shown(self.services, self.turn, self.address):
            return await self.waits.for_work(seq)

    async def entered(self) -> tuple[UserMessage, ...]:
        """What the chat said meanwhile, if the agent wants to be steered by it."""
        services, turn = self.services, self.turn
        try:
            wanted = await services.store.transact(attachments.wanted, turn.id, turn.chat_key)
            await services.pictures.fetch(wanted)
            return await services.store.transact(self._enter)
        except JournalError as error:
            raise _refusal(error) from error

    def _enter(self, db: apsw.Connection) -> tuple[UserMessage, ...]:
        def takes(row: InboxRow) -> bool:
            return agent_for(db, self.services.agents(), row) == self.turn.agent_id

        return internal_messages.enter(db, self.turn, takes)

    def show(self, text: str) -> None:
        """The answer so far."""
        if self.preview is not None:
            self.preview.show(text)


def shown(
    services: TurnServices, turn: Turn, address: Address
) -> AbstractAsyncContextManager[Preview | None]:
    """What the chat sees while a turn runs; of one that nobody waits for it sees nothing."""
    if turn.recipe not in ("interactive", "request"):
        return nullcontext()
    return services.delivery.preview(turn.id, address)


def ended(text: str, error: str | None = None) -> TurnResult:
    """The end of a turn that did not come to an answer."""
    return TurnResult(text=text, stop_reason=StopReason.MODEL_ERROR, error=error or text)


def _refusal(error: JournalError) -> RpcError:
    return RpcError(FENCED if isinstance(error, FencedError) else FAILED, str(error))
