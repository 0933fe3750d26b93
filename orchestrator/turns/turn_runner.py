"""Runs one turn from its admission to its end.

`TurnRunner.run` is the recovery: after each attempt that did not end the turn, it waits for what
the turn needs and tries again, in whatever worker there is then, with the steps that are already in
the journal.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import NamedTuple, Self

import anyio
import structlog

from orchestrator import chat_texts, errors
from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.db.store import STORAGE_RETRY, FencedError, retry_later
from orchestrator.journal.turns import turns
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.loop_owned import LoopOwned
from orchestrator.outbound.preview import Preview
from orchestrator.processes.worker import Worker
from orchestrator.toolcalls.executor import HandoffDone, ToolPending
from orchestrator.turns.api_turn import RequestRecipe
from orchestrator.turns.hook_turn import HookRecipe
from orchestrator.turns.outcomes import (
    AgentPaused,
    Drained,
    Finished,
    Lost,
    Outcome,
    Suspended,
    failed,
)
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.subagent_turn import SubagentRecipe
from orchestrator.turns.task_turn import TaskRecipe
from orchestrator.turns.turn_host import TurnHost, TurnServices
from orchestrator.turns.turn_inputs import TurnInputs
from thinker.protocol.methods import StopReason, TurnResult, TurnRun

FRESH = 1000  # milliseconds for which inputs that T2 loaded are used without a second look
RECIPES: Mapping[str, type[Recipe]] = {
    "interactive": Recipe,
    "proactive": TaskRecipe,
    "request": RequestRecipe,
    "subagent": SubagentRecipe,
    "hook": HookRecipe,
}
Aside = Callable[[], AbstractAsyncContextManager[None]]
log = structlog.get_logger()


class OpenTurn(NamedTuple):
    """A turn that is open in the journal, with its inputs if they were loaded with T2."""

    turn: Turn
    preloaded: TurnInputs | None = None


async def _recipe_of(services: TurnServices, turn: Turn) -> Recipe:
    return await RECIPES[turn.recipe].of(services, turn)


class TurnRunner(LoopOwned):
    """Runs one turn, in one attempt after the other."""

    def __init__(
        self, services: TurnServices, recipe: Recipe, preloaded: TurnInputs | None
    ) -> None:
        self._services = services
        self._inputs = services.inputs
        self._recipe = recipe
        self._preloaded = preloaded  # for the first attempt
        self._host: TurnHost | None = None  # of the last attempt
        self._quarantined = False  # at an earlier attempt
        self._aside: Aside = nullcontext

    @classmethod
    async def of(cls, services: TurnServices, opened: OpenTurn) -> Self:
        """Return what runs an open turn.

        Raises:
            JournalError: the journal cannot be read.
        """
        return cls(services, await _recipe_of(services, opened.turn), opened.preloaded)

    @property
    def shown(self) -> str:
        preview = None if self._host is None else self._host.preview
        return "" if preview is None else preview.text

    async def run(self, aside: Aside = nullcontext) -> None:
        """Bring the turn to its end, whatever happens to workers; or leave it open at a stop.

        ``aside`` is entered while the turn waits without a worker.
        """
        self._aside = aside
        try:
            while not await self._tried():
                pass
        finally:
            self._recipe.ended()

    async def give_up(self, deaths: int, problem: str) -> None:
        """Make the turn's message a dead letter."""
        await self._services.completion.give_up(self._recipe, deaths, problem)

    async def _tried(self) -> bool:
        """Make one attempt and act on its outcome; return whether the turn is over here."""
        try:
            return await self._conclude(await self._attempt())
        except FencedError as error:
            log.warning("turn_fenced", problem=str(error))
            return True
        except errors.JournalError as error:
            await retry_later(error)
        except Exception as error:  # a bug must not be retried forever
            log.exception("turn_broke")
            if await self._conclude(Lost(f"{type(error).__name__}: {error}")):
                return True
            await anyio.sleep(STORAGE_RETRY)
        return False

    async def _conclude(self, outcome: Outcome) -> bool:
        """End the turn, or wait until it can go on; return whether it is over here."""
        match outcome:
            case Finished(result, committed):
                if not committed:
                    await self._services.completion.complete(self._recipe, result)
                return True
            case Suspended(reason):
                # A chat whose turn waits for a subagent sees that it is worked on.
                host = self._host if isinstance(reason, ToolPending) else None
                brief = isinstance(reason, Drained | HandoffDone)
                async with nullcontext() if brief else self._aside():
                    with self._recipe.preview(host.inputs.address) if host else nullcontext():
                        await self._services.suspension.wait(self._recipe.turn, reason)
                return self._services.suspension.stopping
            case Lost(problem):
                return await self._services.completion.count_death(self._recipe, problem)

    async def _attempt(self) -> Outcome:
        try:
            return await self._in_worker()
        except errors.UnknownAgentError:
            stopping = self._services.suspension.stopping
            return Suspended(Drained()) if stopping else failed(chat_texts.GONE)
        except errors.QuarantinedError as error:
            again, self._quarantined = self._quarantined, True
            return self._recipe.quarantined(error, again=again)
        except errors.WorkerLostError as error:
            return Lost(str(error))
        except errors.WorkerError as error:
            log.error("turn_failed", problem=str(error))
            return failed(chat_texts.BROKEN, str(error))

    async def _in_worker(self) -> Outcome:
        await self._inputs.tools.servers.wait_ready()
        if self._host is not None:  # an earlier attempt may have handed it to another agent
            turn = await self._services.store.transact(turns.load, self._recipe.turn.id)
            await self._change(replace(self._recipe.turn, agent_id=turn.agent_id))
        direct = await self._recipe.without_worker(self._hosted)
        if direct is not None:
            return direct
        definition = self._recipe.definition()
        async with self._recipe.worker(definition) as worker:
            inputs = await self._gathered(definition, worker)
            if not isinstance(inputs, TurnInputs):
                return Suspended(AgentPaused(inputs.reason))
            turn = self._recipe.turn
            if turn.ready_at is None:
                await self._change(replace(turn, ready_at=self._inputs.clock()))
            with self._recipe.preview(inputs.address) as preview:
                host = self._hosted(inputs, preview)
                host.run = self._recipe.request(inputs, host.environments)
                return await self._run_on(worker, host.run, host)

    async def _change(self, turn: Turn) -> None:
        self._recipe = await _recipe_of(self._services, turn)

    async def _gathered(self, definition: AgentDefinition, worker: Worker) -> TurnInputs | Pause:
        """Return what T2 loaded for this agent if that was just now; else load it now."""
        preloaded, self._preloaded = self._preloaded, None
        turn = self._recipe.turn
        fresh = self._inputs.clock() - turn.started_at < FRESH
        if fresh and preloaded is not None and preloaded.definition is definition:
            return preloaded
        return await self._inputs.load(turn, definition, worker, self._recipe.gather)

    def _hosted(self, inputs: TurnInputs, preview: Preview | None = None) -> TurnHost:
        environments = self._recipe.environments(inputs.definition, inputs.address)
        self._host = TurnHost(self._services, self._recipe, inputs, environments, preview)
        return self._host

    async def _run_on(self, worker: Worker, run: TurnRun, host: TurnHost) -> Outcome:
        """Return what the worker came to, or what its requests decided before.

        Raises:
            JournalError: a request could not use the journal; the next attempt goes on.
        """
        try:
            outcome = await self._judged(await self._recipe.run_on(worker, run, host))
        except errors.WorkerLostError as error:
            drained = worker.stop_requested and not worker.hung
            # A worker that waits for a tool does nothing with the message that could kill it.
            innocent = drained or self._inputs.tools.running(run.turn_id)
            if not drained:
                noted = run.turn_id, str(error), self._inputs.clock()
                await self._services.store.transact(turns.note_lost_worker, *noted)
            outcome = Suspended(Drained()) if innocent else Lost(str(error))
        except errors.WorkerError:
            if host.outcome is not None:
                return host.outcome
            if host.unusable is not None:
                raise host.unusable from None
            raise
        if host.outcome is None and host.last is not None:
            return await self._cut_off(host.last, outcome)
        return host.outcome or outcome

    async def _judged(self, result: TurnResult) -> Outcome:
        if result.stop_reason is StopReason.ACCOUNT:
            refused = self._inputs.guard.rules().refused
            await self._services.store.transact(refused, self._recipe.turn, result.text)
            return Suspended(AgentPaused(result.text))
        if result.stop_reason is StopReason.DRAINED:
            return Suspended(Drained())
        return Finished(result)

    async def _cut_off(self, last: TurnResult, outcome: Outcome) -> Outcome:
        """Return what became of a last step whose deadline passed while T6 was committed."""
        turn = await self._services.store.transact(turns.load, self._recipe.turn.id)
        if turn.state not in ("replied", "closed"):
            return outcome
        self._services.completion.announce(turn, last, None)
        return Finished(last, committed=True)
