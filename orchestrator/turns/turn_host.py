"""What a worker asks for the turn that it runs: commits, tool calls, new messages, previews."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import structlog

from orchestrator import memory_access
from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.files import OffLoop, off_loop
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import FencedError, Store
from orchestrator.journal.turns import albums, attachments, inbox, internal_messages, steps
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.prompt_records import NO_SOURCES, PromptSources
from orchestrator.journal.turns.turns import Turn
from orchestrator.loop_owned import LoopOwned
from orchestrator.outbound.delivery import Delivery
from orchestrator.outbound.preview import Preview
from orchestrator.processes.supervisor import Supervisor
from orchestrator.prompts.prompt_tools import with_fixed_options
from orchestrator.routing import agent_for
from orchestrator.settings import Settings
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.timezones import host_timezone
from orchestrator.toolcalls.authorization import CallAuthorizer, CallContext
from orchestrator.toolcalls.executor import CallBrokeError
from orchestrator.tools.builtin.host_tool import ToolContext
from orchestrator.tools.policy import side_effects
from orchestrator.turns import input_origins
from orchestrator.turns.completion import EndedTurn, Ending, TurnCompletion, end_turn
from orchestrator.turns.live_links import PreviewedLinks
from orchestrator.turns.outcomes import AgentPaused, Finished, Outcome, Reason, Suspended
from orchestrator.turns.suspension import TurnSuspension
from orchestrator.turns.turn_inputs import InputLoader, TurnInputs
from thinker.protocol.environments import Environments
from thinker.protocol.logs import bound
from thinker.protocol.messages import SideEffect, ToolResult, UserMessage
from thinker.protocol.methods import StepCommit, StepCommitted, TurnResult, TurnRun
from thinker.protocol.peer import FAILED, FENCED, RpcError

Read = TypeVar("Read", ToolResult, UserMessage)
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
    off_loop: OffLoop = off_loop


class _Step(NamedTuple):
    """A step to commit, with what the event loop knows about its calls.

    The journal's thread gets it as plain data: nothing that the loop may change meanwhile. Without
    calls there is no ``authorizer``.
    """

    ending: Ending
    commit: StepCommit
    sources: PromptSources
    rules: SpendingRules
    classes: Mapping[str, SideEffect] = field(default_factory=dict)
    authorizer: CallAuthorizer | None = None


@dataclass(frozen=True)
class _Planned:
    """What T3 committed.

    ``pause`` is the one in which the turn must wait, ``notified`` whether chats may have been sent
    a notice of one, ``ended`` the end of the turn if it has ended.
    """

    committed: StepCommitted
    pause: Pause | None
    notified: bool
    ended: EndedTurn | None = None


@dataclass
class TurnHost(LoopOwned):
    """Keeps a turn's journal during one attempt (`orchestrator.processes.worker.WorkerHost`).

    ``outcome`` is how the attempt ended, once a request decided it. ``last`` is the result that the
    last step carried, from before its commit on. ``unusable`` is set once the journal could not be
    used for a request.
    """

    services: TurnServices
    ending: Ending
    inputs: TurnInputs
    environments: Environments
    preview: Preview | None = None
    run: TurnRun | None = None  # what the worker was sent
    outcome: Outcome | None = field(default=None, init=False)
    last: TurnResult | None = field(default=None, init=False)
    unusable: JournalError | None = field(default=None, init=False)

    @property
    def turn(self) -> Turn:
        return self.ending.turn

    @cached_property
    def _context(self) -> ToolContext:
        services, turn, definition = self.services, self.turn, self.inputs.definition
        memory = self.inputs.memory
        return ToolContext(
            agent_id=turn.agent_id,
            turn_id=turn.id,
            address=self.inputs.address,
            now=turn.started_at,
            timezone=definition.timezone or host_timezone(services.environ),
            skill_directories=services.settings.paths.skill_directories(turn.agent_id),
            skills=definition.skills,
            split=services.delivery.formats.split,
            mode=services.delivery.formats.mode,
            takes_files=services.delivery.formats.takes_files,
            memory=memory,
            may_write=partial(memory_access.may_write, services.inputs.agents(), memory),
            store=services.store,
            meaning=partial(services.inputs.embeddings.embed, definition, turn.agent_id),
            document_text=services.inputs.media.reader(definition, turn.agent_id),
            draw=partial(services.inputs.media.draw, definition, turn.agent_id),
            denied_tools=definition.denied_tools,
            environments=self.environments,
            off_loop=services.off_loop,
            workspace=definition.workspace is not None,
            fast_tasks=services.settings.fast_tasks,
            offered=None if self.run is None else self.run.tools,
        )

    async def commit(self, commit: StepCommit) -> StepCommitted:
        """Commit T3, fenced by the epoch.

        The step that ends the turn is committed with T6. An agent whose pause began with the step
        goes no further.
        """
        last = self.last = commit.ends
        services, turn = self.services, self.turn
        # The tasks of the wire know nothing of the turn.
        with bound(turn_id=turn.id, agent_id=turn.agent_id, chat_id=turn.chat_key):
            try:
                step = self._step(commit)
                if last is None:
                    planned = await services.store.transact(_plan, step)
                else:
                    planned = await services.store.transact(_reply, step, last)
            except JournalError as error:
                raise self._refusal(error) from error
            committed = planned.committed
            if commit.calls:
                self._report(commit, committed)
            if committed.changed:
                log.debug("prompt_changed", layers=committed.changed)
            if last is not None:
                self.outcome = Finished(last, committed=True)
                services.completion.announce(turn, last, planned.ended)
        if planned.notified:
            services.delivery.wake()
        if planned.pause is not None:
            raise self._suspended(AgentPaused(planned.pause.reason))
        results = {seq: self._as_read(result) for seq, result in committed.results.items()}
        return committed.model_copy(update={"results": results}) if results else committed

    def _report(self, commit: StepCommit, committed: StepCommitted) -> None:
        """Report the calls that ended with a step, to those who watch the chat after its text."""
        chat_key, tools = self.inputs.address.chat_key, self.services.inputs.tools
        if tools.activity.watched(chat_key):
            self.show(commit.response.content)
        tools.report_step(self.turn.agent_id, chat_key, commit, committed)

    def _step(self, commit: StepCommit) -> _Step:
        loader, definition, run = self.services.inputs, self.inputs.definition, self.run
        window = self.inputs.context.window
        sources = NO_SOURCES if run is None else PromptSources(run.prompt, run.tools, window)
        step = _Step(self.ending, commit, sources, loader.guard.rules())
        if not commit.calls:
            return step
        bundle = loader.prompts.bundle_of(definition)
        return step._replace(
            commit=with_fixed_options(bundle, commit, self._handed_back),
            classes=self._classes,
            authorizer=loader.tools.authorizer(self._caller()),
        )

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a planned call: policy, T4, effect, T5."""
        try:
            result = await self.services.inputs.tools.call(self._caller(), seq, self._show_wait())
        except CallBrokeError as error:
            raise RpcError(FAILED, str(error)) from error
        except JournalError as error:
            raise self._refusal(error) from error
        if isinstance(result, ToolResult):
            return self._as_read(result)
        raise self._suspended(result)

    def _as_read(self, message: Read) -> Read:
        self._links.read(message)
        off = self.inputs.definition.provenance == "off"
        return input_origins.plain(message) if off else message

    def _suspended(self, reason: Reason) -> RpcError:
        self.outcome = Suspended(reason)
        return RpcError(FENCED, str(reason))

    def _refusal(self, error: JournalError) -> RpcError:
        if isinstance(error, FencedError):
            return RpcError(FENCED, str(error))
        self.unusable = error
        return RpcError(FAILED, str(error))

    def _caller(self) -> CallContext:
        loader = self.services.inputs
        context = replace(self._context, now=loader.clock())
        return CallContext(self.inputs.definition, context, self.turn.epoch, self._handed_back)

    @cached_property
    def _handed_back(self) -> frozenset[str]:
        tools = () if self.run is None else self.run.tools
        return frozenset(tool.name for tool in tools if tool.handed_back)

    @cached_property
    def _classes(self) -> Mapping[str, SideEffect]:
        return {} if self.run is None else side_effects(self.run.tools)

    async def entered(self) -> tuple[UserMessage, ...]:
        """Return the chat's new messages, if they or the agent want the turn to be steered."""
        store, turn, inputs = self.services.store, self.turn, self.services.inputs
        try:
            row = await store.read(inbox.oldest_new, turn.chat_key)
            if row is None or not _joins(row, inputs.agents(), turn.agent_id):
                return ()
            wanted = await store.transact(attachments.wanted, turn.id, turn.chat_key)
            await inputs.pictures.fetch(wanted, self._context.document_text)
            found = await store.transact(_enter, turn, inputs.agents(), inputs.clock())
            return tuple(self._as_read(message) for message in found)
        except JournalError as error:
            raise self._refusal(error) from error

    def _show_wait(self) -> Callable[[str], None]:
        """Return a function that shows a line below the text before the call, or that text."""
        before = "" if self.preview is None else self.preview.text

        def show(line: str) -> None:
            text = "\n\n".join(filter(None, (before, line)))
            if text:
                self.show(text)

        return show

    def show(self, text: str) -> None:
        if self.preview is not None:
            self.preview.show(self._links.safe(text))

    @cached_property
    def _links(self) -> PreviewedLinks:
        inputs = self.inputs
        on = inputs.definition.provenance == "on" and self.turn.recipe == "interactive"
        return PreviewedLinks(inputs.read, inputs.context, on=on)


def _enter(db: Database, turn: Turn, agents: AgentsFile, now: int) -> tuple[UserMessage, ...]:
    def takes(row: InboxRow) -> bool:
        if not _joins(row, agents, turn.agent_id):
            return False
        waits = albums.unsettled(db, row.chat_key, row.album, now, 0)
        return not waits and agent_for(db, agents, row) == turn.agent_id

    return internal_messages.enter(db, turn, takes)


def _joins(row: InboxRow, agents: AgentsFile, agent_id: str) -> bool:
    """Return whether a message is to join the turn that is open; its own choice comes first."""
    definition = agents.agent(agent_id)
    return definition is not None and (row.while_busy or definition.while_busy) == "steer"


def _reply(db: Database, step: _Step, last: TurnResult) -> _Planned:
    """Commit T3 and T6; no agent waits for what it has answered."""
    planned = _plan(db, step)
    return _Planned(planned.committed, None, planned.notified, end_turn(db, step.ending, last))


def _plan(db: Database, step: _Step) -> _Planned:
    """Commit T3, and run the first calls that need only the journal."""
    turn, commit, now = step.ending.turn, step.commit, step.rules.clock()
    committed = steps.plan(db, commit, step.classes, turn.epoch, now, step.sources)
    pause, notified = step.rules.settle(db, turn, commit, committed.seq)
    if pause is None and step.authorizer is not None:
        results = step.authorizer.run_local(db, committed.call_seqs)
        committed = committed.model_copy(update={"results": results})
    return _Planned(committed, pause, notified)
