"""What a worker asks for the turn that it runs: commits, tool calls, new messages, previews."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import apsw
import structlog

from orchestrator.errors import JournalError
from orchestrator.journal.db.store import FencedError, Store
from orchestrator.journal.turns import attachments, internal_messages, prompt_records
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Delivery, Reply
from orchestrator.outbound.preview import Preview
from orchestrator.processes.supervisor import Supervisor
from orchestrator.routing import agent_for
from orchestrator.settings import Settings
from orchestrator.timezones import host_timezone
from orchestrator.toolcalls.authorization import CallContext
from orchestrator.tools.builtin.host_tool import ToolContext
from orchestrator.turns.completion import Ending, TurnCompletion
from orchestrator.turns.outcomes import AgentPaused, Finished, Outcome, Reason, Suspended
from orchestrator.turns.suspension import TurnSuspension
from orchestrator.turns.turn_inputs import InputLoader, TurnInputs
from thinker.protocol.environments import Environments
from thinker.protocol.logs import bound
from thinker.protocol.messages import ToolResult, UserMessage
from thinker.protocol.methods import StepCommit, StepCommitted, TurnResult, TurnRun
from thinker.protocol.peer import FAILED, FENCED, RpcError

log = structlog.get_logger()


@dataclass(frozen=True)
class TurnServices:
    """What all turns share. ``task_ended`` is called after the turn of a scheduled task."""

    store: Store
    inputs: InputLoader
    delivery: Delivery
    supervisor: Supervisor
    settings: Settings
    environ: dict[str, str]
    completion: TurnCompletion
    suspension: TurnSuspension
    task_ended: Callable[[], None]


@dataclass(frozen=True)
class _Planned:
    """What T3 committed.

    ``pause`` is the one in which the turn must wait, ``notified`` whether chats may have been sent
    a notice of one, ``reply`` that of the turn if it has ended.
    """

    committed: StepCommitted
    pause: Pause | None
    notified: bool
    reply: Reply | None = None


@dataclass
class TurnHost:
    """Keeps a turn's journal during one attempt (`orchestrator.processes.worker.WorkerHost`).

    ``outcome`` is how the attempt ended, once a request decided it. ``last`` is the result that the
    last step carried, from before its commit on.
    """

    services: TurnServices
    ending: Ending
    inputs: TurnInputs
    environments: Environments
    preview: Preview | None = None
    run: TurnRun | None = None  # what the worker was sent
    outcome: Outcome | None = field(default=None, init=False)
    last: TurnResult | None = field(default=None, init=False)

    @property
    def turn(self) -> Turn:
        return self.ending.turn

    @cached_property
    def _context(self) -> ToolContext:
        services, turn, definition = self.services, self.turn, self.inputs.definition
        return ToolContext(
            agent_id=turn.agent_id,
            turn_id=turn.id,
            address=self.inputs.address,
            now=turn.started_at,
            timezone=definition.timezone or host_timezone(services.environ),
            skill_directories=services.settings.paths.skill_directories(turn.agent_id),
            skills=definition.skills,
            split=services.delivery.split,
            mode=services.delivery.mode,
            store=services.store,
            meaning=partial(services.inputs.embeddings.embed, definition, turn.agent_id),
            denied_tools=definition.denied_tools,
            environments=self.environments,
        )

    async def commit(self, commit: StepCommit) -> StepCommitted:
        """Commit T3, fenced by the epoch.

        The step that ends the turn is committed with T6, unless its chat already sees the answer
        grow. An agent whose pause began with the step goes no further.
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
            services.inputs.tools.report_results(committed.results)
            if committed.changed:
                log.info("prompt_changed", layers=committed.changed)
            if last is not None:
                self.outcome = Finished(last, committed=True)
                services.completion.announce(turn, last, planned.reply)
        if planned.notified:
            services.delivery.wake()
        if planned.pause is not None:
            raise self._suspended(AgentPaused(planned.pause.reason))
        return committed

    def _reply(self, db: apsw.Connection, commit: StepCommit, last: TurnResult) -> _Planned:
        """Commit T3 and T6; no agent waits for what it has answered."""
        planned = self._plan(db, commit)
        return replace(planned, pause=None, reply=self.ending.reply(db, last))

    def _plan(self, db: apsw.Connection, commit: StepCommit) -> _Planned:
        loader = self.services.inputs
        committed = loader.tools.plan(db, commit)
        if commit.prompt is not None and self.run is not None:
            sources = prompt_records.PromptSources(self.run.prompt, self.run.tools)
            prompt_records.keep(db, self.turn.id, loader.clock(), sources)
        pause, notified = loader.guard.settle(db, self.turn, commit)
        if pause is None and committed.call_seqs:
            results = loader.tools.authorizer.run_local(db, self._caller(), committed.call_seqs)
            committed = committed.model_copy(update={"results": results})
        return _Planned(committed, pause, notified)

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a planned call: policy, T4, effect, T5."""
        try:
            result = await self.services.inputs.tools.call(self._caller(), seq)
        except JournalError as error:
            raise RpcError(FAILED, str(error)) from error
        if isinstance(result, ToolResult):
            return result
        raise self._suspended(result)

    def _suspended(self, reason: Reason) -> RpcError:
        self.outcome = Suspended(reason)
        return RpcError(FENCED, str(reason))

    def _caller(self) -> CallContext:
        loader = self.services.inputs
        context = replace(self._context, now=loader.clock())
        tools = () if self.run is None else self.run.tools
        handed_back = frozenset(tool.name for tool in tools if tool.handed_back)
        return CallContext(self.inputs.definition, context, loader.tools.epoch, handed_back)

    async def entered(self) -> tuple[UserMessage, ...]:
        """Return the chat's new messages, if the agent wants to be steered by them."""
        store, turn = self.services.store, self.turn
        try:
            wanted = await store.transact(attachments.wanted, turn.id, turn.chat_key)
            await self.services.inputs.pictures.fetch(wanted)
            return await store.transact(self._enter)
        except JournalError as error:
            raise _refusal(error) from error

    def _enter(self, db: apsw.Connection) -> tuple[UserMessage, ...]:
        def takes(row: InboxRow) -> bool:
            return agent_for(db, self.services.inputs.agents(), row) == self.turn.agent_id

        return internal_messages.enter(db, self.turn, takes)

    def show(self, text: str) -> None:
        if self.preview is not None:
            self.preview.show(text)


def _refusal(error: JournalError) -> RpcError:
    return RpcError(FENCED if isinstance(error, FencedError) else FAILED, str(error))
