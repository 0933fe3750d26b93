"""Run one turn from its admission to its end.

`TurnRunner.run` is the recovery: after each attempt that did not end the turn, it waits for what
the turn needs and tries again, in the current worker, with the steps that are already in the
journal.

Where: is a turn retried after a crash of its worker?
"""

from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple

import anyio
import structlog

from orchestrator import chat_texts, errors
from orchestrator.installed import find_installed
from orchestrator.journal.db.store import STORAGE_RETRY, FencedError, retry_later
from orchestrator.journal.turns import turns
from orchestrator.journal.turns.turns import Turn
from orchestrator.loop_bound import LoopBound
from orchestrator.outbound.chat_queue import Preview
from orchestrator.placement import name_turn_owner
from orchestrator.processes.worker import Worker
from orchestrator.toolcalls.executor import HandoffDone, ToolPending
from orchestrator.turns.outcomes import (
    AgentPaused,
    Outcome,
    TurnFinished,
    TurnSuspended,
    WorkerDrained,
    WorkerLost,
    build_failure,
)
from orchestrator.turns.recipe import MissingRecipe, Recipe
from orchestrator.turns.turn_host import TurnHost
from orchestrator.turns.turn_inputs import TurnInputs
from orchestrator.turns.turn_services import TurnServices
from thinker.protocol.methods import StopReason, TurnResult

FRESH = 1000  # milliseconds for which inputs that T2 loaded are used without a second look
Aside = Callable[[], AbstractAsyncContextManager[None]]
log = structlog.get_logger()


@cache
def find_recipe(name: str) -> type[Recipe]:
    """Return the recipe of a message, or that of an extension by its name in the journal."""
    if name == "interactive":  # a message of a chat waits for no import, which may also fail
        return Recipe
    found: dict[str, type[Recipe]] = {}
    for extension in find_installed().own.values():
        found |= extension.list_recipes()
    return found.get(name, MissingRecipe)


class OpenTurn(NamedTuple):
    """A turn that is open in the journal, with its inputs if they were loaded with T2."""

    turn: Turn
    preloaded: TurnInputs | None = None

    async def make_runner(self, services: TurnServices) -> "TurnRunner":
        """Make the runner of the turn.

        Raises:
            JournalError: the journal cannot be read.
        """
        recipe = await find_recipe(self.turn.recipe).load_for_turn(services, self.turn)
        return TurnRunner(services, recipe, self.preloaded)


@dataclass(eq=False)
class TurnRunner(LoopBound):
    """Runs one turn, attempt after attempt; ``preloaded`` is for the first one.

    ``recipe`` is the turn's recipe.
    """

    services: TurnServices
    recipe: Recipe
    preloaded: TurnInputs | None = None
    _host: TurnHost | None = field(default=None, init=False)  # of the last attempt
    _quarantined: bool = field(default=False, init=False)  # at an earlier attempt
    _aside: Aside = field(default=nullcontext, init=False)

    @property
    def shown_text(self) -> str:
        preview = None if self._host is None else self._host.preview
        return "" if preview is None else preview.text

    async def run(self, aside: Aside = nullcontext) -> bool | None:
        """Run the turn to its end, despite crashes of workers, or leave it open at a stop.

        ``aside`` is entered while the turn waits without a worker. Return whether the chat has
        more to do, None if unknown.
        """
        self._aside = aside
        try:
            while not await self._try_once():
                pass
        finally:
            self.recipe.clean_up()
        return self.recipe.has_more

    async def give_up_message(self, deaths: int, problem: str) -> None:
        """Make the turn's message a dead letter."""
        await self.services.completion.give_up_message(self.recipe, deaths, problem)

    async def _try_once(self) -> bool:
        """Make one attempt and act on its outcome; return whether the turn is over here."""
        try:
            return await self._conclude_attempt(await self._attempt_turn())
        except FencedError as error:
            given = not self._is_placed_here()  # then another node goes on with it
            (log.debug if given else log.warning)("turn_fenced", problem=str(error))
            return True
        except errors.JournalError as error:
            await retry_later(error)
        except Exception as error:  # a bug must not be retried forever
            log.exception("turn_broke")
            if await self._conclude_attempt(WorkerLost(f"{type(error).__name__}: {error}")):
                return True
            await anyio.sleep(STORAGE_RETRY)
        return False

    async def _conclude_attempt(self, outcome: Outcome) -> bool:
        """End the turn, or wait until it can continue; return whether it is over here."""
        services, recipe = self.services, self.recipe
        match outcome:
            case TurnFinished(result, committed):
                if not committed:
                    await services.completion.complete_turn(recipe, result)
                return True
            case TurnSuspended(reason):
                # A chat whose turn waits for a subagent sees that it is worked on.
                host = self._host if isinstance(reason, ToolPending) and recipe.shown else None
                brief = isinstance(reason, WorkerDrained | HandoffDone)
                async with nullcontext() if brief else self._aside():
                    with nullcontext() if host is None else self._open_preview(host.inputs):
                        await services.suspension.wait_for_reason(recipe.turn, reason)
                return isinstance(reason, HandoffDone) or services.suspension.is_stopping
            case WorkerLost(problem):
                return await services.completion.count_worker_death(recipe, problem)

    async def _attempt_turn(self) -> Outcome:
        try:
            return await self._attempt_in_worker()
        except errors.UnknownAgentError:
            stopping = self.services.suspension.is_stopping
            return TurnSuspended(WorkerDrained()) if stopping else build_failure(chat_texts.GONE)
        except errors.QuarantinedError as error:
            again, self._quarantined = self._quarantined, True
            return self.recipe.choose_quarantine_outcome(error, again=again)
        except errors.WorkerLostError as error:
            return WorkerLost(str(error))
        except errors.WorkerError as error:
            log.error("turn_failed", problem=str(error))
            return build_failure(chat_texts.BROKEN, str(error))

    async def _attempt_in_worker(self) -> Outcome:
        if self._host is not None:  # an earlier attempt may have handed it to another agent
            await self._reload_recipe()
        recipe, loader = self.recipe, self.services.inputs
        if loader.tools.servers.has_servers:
            own = recipe.build_definition()
            # A subagent's own list has the names of tools that are known already.
            agent = loader.agents().find_agent(own.configured_id) or own
            recipe.missing = await loader.tools.servers.wait_until_ready(agent)
        direct = await recipe.run_without_worker(partial(self._build_host, preview=None))
        if direct is not None:
            return direct
        definition = recipe.definition = recipe.build_definition()
        async with recipe.use_worker(definition) as worker:
            inputs = self._take_preloaded()
            if inputs is None:
                found = await loader.load_inputs(
                    recipe.turn, definition, worker, recipe.gather_inputs
                )
                if not isinstance(found, TurnInputs):
                    return TurnSuspended(AgentPaused(found.reason))
                inputs = found
            recipe.set_ready(self.services.inputs.clock())
            if not recipe.shown:
                return await self._run_in_worker(worker, self._build_host(inputs, None))
            with self._open_preview(inputs) as preview:
                return await self._run_in_worker(worker, self._build_host(inputs, preview))

    async def _reload_recipe(self) -> None:
        before = self.recipe.turn
        found = await self.services.store.transact(turns.load_turn, before.id)
        if found.agent_id != before.agent_id:
            raise FencedError(f"the turn was handed over to agent {found.agent_id!r}")
        self.recipe = await find_recipe(before.recipe).load_for_turn(self.services, before)

    def _is_placed_here(self) -> bool:
        turn = self.recipe.turn
        return self.services.placement.owns(name_turn_owner(turn.agent_id, turn.chat_key))

    def _take_preloaded(self) -> TurnInputs | None:
        """Return the inputs that T2 loaded if they are recent; None if they must be loaded now."""
        preloaded, self.preloaded = self.preloaded, None
        if preloaded is None or self.recipe.clock() - self.recipe.turn.started_at >= FRESH:
            return None
        unchanged = self.services.inputs.agents() is preloaded.context.rules.agents
        return preloaded if unchanged else None

    def _open_preview(self, inputs: TurnInputs) -> AbstractContextManager[Preview]:
        turn = self.recipe.turn
        owner = name_turn_owner(turn.agent_id, turn.chat_key)
        return self.services.delivery.open_preview(turn.id, inputs.context.address, owner)

    def _build_host(self, inputs: TurnInputs, preview: Preview | None) -> TurnHost:
        recipe = self.recipe
        self._host = TurnHost(
            services=self.services,
            ending=recipe,
            inputs=inputs,
            environments=partial(recipe.build_environments, inputs.context),
            preview=preview,
        )
        return self._host

    async def _run_in_worker(self, worker: Worker, host: TurnHost) -> Outcome:
        """Return the worker's outcome, or the one that its requests decided before.

        Raises:
            JournalError: a request could not use the journal; the next attempt continues.
        """
        run = host.run = self.recipe.build_request(host.inputs)
        provenance = host.inputs.context.definition.provenance
        host.settings = worker.spec.describe_run(run, provenance)
        try:
            outcome = await self._judge_result(await self.recipe.run_in_worker(worker, run, host))
        except errors.WorkerLostError as error:
            drained = worker.stop_requested and not worker.hung
            # A worker that waits for a tool does nothing with the message that could kill it.
            running = self.services.inputs.tools.list_running_calls(run.turn_id)
            if not drained:
                noted = run.turn_id, str(error), self.recipe.clock()
                await self.services.store.transact(turns.note_lost_worker, *noted)
            outcome = (
                TurnSuspended(WorkerDrained()) if drained or running else WorkerLost(str(error))
            )
        except errors.WorkerError:
            if host.outcome is not None:
                return host.outcome
            if host.unusable is not None:
                raise host.unusable from None
            raise
        if host.outcome is None and host.last is not None:
            return await self._check_cut_off_step(host.last, outcome)
        return host.outcome or outcome

    async def _judge_result(self, result: TurnResult) -> Outcome:
        if result.stop_reason is StopReason.ACCOUNT:
            refused = self.services.inputs.guard.build_rules().pause_refused_agent
            await self.services.store.transact(refused, self.recipe.turn, result.text)
            return TurnSuspended(AgentPaused(result.text))
        if result.stop_reason is StopReason.DRAINED:
            return TurnSuspended(WorkerDrained())
        return TurnFinished(result)

    async def _check_cut_off_step(self, last: TurnResult, outcome: Outcome) -> Outcome:
        """Return the outcome of a last step whose deadline passed while T6 was committed."""
        turn = await self.services.store.transact(turns.load_turn, self.recipe.turn.id)
        if turn.state not in ("replied", "closed"):
            return outcome
        self.services.completion.announce_reply(self.recipe, last, None)
        return TurnFinished(last, committed=True)


@dataclass
class TurnSlot:
    """One of an agent's maxConcurrentTurns, for the task that takes it.

    A turn that waits for a person, a budget or a subagent releases its slot meanwhile.
    """

    limit: anyio.CapacityLimiter
    _taken: bool = field(default=False, init=False)

    @asynccontextmanager
    async def hold_place(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it during the block."""
        await self._take_place()
        try:
            yield
        finally:
            self._give_place_back()

    @asynccontextmanager
    async def lend_place(self) -> AsyncIterator[None]:
        """Release the slot during the block, and wait for one again afterwards."""
        self._give_place_back()
        try:
            yield
        finally:
            await self._take_place()

    async def _take_place(self) -> None:
        try:
            self.limit.acquire_nowait()
        except anyio.WouldBlock:
            await self.limit.acquire()
        self._taken = True

    def _give_place_back(self) -> None:
        if self._taken:
            self.limit.release()
        self._taken = False
