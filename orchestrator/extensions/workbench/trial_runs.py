"""Run trials of recorded turns, within the limits that were set for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio
import structlog

from orchestrator.control.trials import (
    TrialContinuation,
    TrialEstimate,
    TrialNumber,
    TrialReport,
    TrialReports,
    TrialRequest,
    TrialState,
)
from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench import trial_rows
from orchestrator.extensions.workbench.recorded_turns import load_recorded_turn
from orchestrator.extensions.workbench.trial_estimates import TrialExaminer
from orchestrator.extensions.workbench.trial_purse import TrialPurse, compute_share
from orchestrator.extensions.workbench.trial_reports import build_report
from orchestrator.extensions.workbench.trial_rows import StoredRequest, StoredRun, TrialRow
from orchestrator.extensions.workbench.trial_session import TrialSession, open_session
from orchestrator.extensions.workbench.tried_turns import TrialHeldError, TurnTrier
from orchestrator.journal.db.database import Database
from orchestrator.wakeup import Wakeup

WORKERS = 2  # at once in a home
RETRIES = 2  # of a turn whose model does not answer
WAIT = 20.0  # seconds before such a retry: live turns come first
STOPPED = "it was stopped"
BROKEN = "it failed; see orchestrator logs"
WAITS = "calls wait for their results"
log = structlog.get_logger()


@dataclass(eq=False)
class _RunningTrial:
    """A trial that runs; ``left`` are its runs that no worker has taken yet, in order.

    ``waiting`` are earlier runs of theirs that waited for the results of calls.
    """

    left: list[tuple[str, int]]
    waiting: Mapping[tuple[str, int], StoredRun]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    note: str = ""

    def hold(self, note: str) -> None:
        """Let no more runs begin."""
        self.note, self.left = self.note or note, []


class TrialRunner:
    """Runs the trials of one daemon; a method raises an `OrchestratorError` that says what to do.

    A trial runs in a task of the daemon, so `start_trial` returns at once.
    """

    def __init__(self, daemon: DaemonView) -> None:
        self._daemon = daemon
        self._examiner = TrialExaminer(daemon)
        self._running: dict[int, _RunningTrial] = {}
        self._places = anyio.CapacityLimiter(WORKERS)
        self._changed = Wakeup()
        self._node = daemon.settings.node_url

    async def estimate_trial(self, request: TrialRequest) -> TrialEstimate:
        """Return what a trial may cost, and why it cannot start, if so."""
        return (await self._examiner.examine_request(request)).estimate

    async def start_trial(self, request: TrialRequest, *, by: str) -> TrialReport:
        """Start a trial and return it."""
        examined = await self._examiner.examine_request(request)
        if examined.estimate.problem:
            raise OrchestratorError(examined.estimate.problem)
        update = {"turns": examined.turns, "limit_usd": examined.limit_usd}
        stored = StoredRequest(request=request.model_copy(update=update), node=self._node)
        store, now = self._daemon.store, self._daemon.machine.clock()
        number = await store.transact(trial_rows.insert_trial, examined.agent_id, stored, by, now)
        return await self._begin(await store.read(trial_rows.load_trial, number))

    async def load_report(self, number: TrialNumber) -> TrialReport:
        """Return a trial with all turns that have been tried so far."""
        return await self._daemon.store.read(_load_report, number)

    async def list_reports(self) -> TrialReports:
        """Return all trials, newest first, without their turns."""
        return TrialReports(trials=await self._daemon.store.read(_list_reports))

    async def stop_trial(self, number: TrialNumber) -> TrialReport:
        """Stop a trial; what is being tried now is given up.

        Another node that runs it ends it after the turns that it tries now.
        """
        running = self._running.get(number.id)
        if running is not None:
            running.hold(STOPPED)
            running.scope.cancel()
            await self.wait_for_trial(number)
        else:
            store, now = self._daemon.store, self._daemon.machine.clock()
            await store.transact(trial_rows.end_trial, number.id, "stopped", STOPPED, now)
        return await self.load_report(number)

    async def continue_trial(self, continuation: TrialContinuation, *, by: str) -> TrialReport:
        """Go on with a stopped trial."""
        del by
        store, number = self._daemon.store, continuation.id
        if number in self._running:
            return await self.load_report(continuation)
        typed = continuation.typed
        row = await store.transact(trial_rows.continue_trial, number, typed, None, self._node)
        return await self._begin(row)

    async def wait_for_trial(self, number: TrialNumber) -> TrialReport:
        """Wait until a trial is done or stopped, and return it."""

        async def is_over() -> bool:
            return number.id not in self._running

        await self._changed.wait_until(is_over)
        return await self.load_report(number)

    # --- running ---------------------------------------------------------------------------------

    async def _begin(self, row: TrialRow) -> TrialReport:
        """Start the task that makes the runs which are missing."""
        runs = await self._daemon.store.read(trial_rows.list_runs, row.id)
        request, known = row.change.request, {(run.turn_id, run.nth): run for run in runs}
        every = [(turn, nth) for turn in request.turns for nth in range(1, request.times + 1)]
        left = [one for one in every if one not in known or known[one].state != "done"]
        waiting = {one: known[one].result for one in left if one in known}
        self._running[row.id] = running = _RunningTrial(left, waiting)
        self._daemon.tasks.start_soon(self._run_trial, row, running)
        return await self.load_report(TrialNumber(id=row.id))

    async def _run_trial(self, row: TrialRow, running: _RunningTrial) -> None:
        finished = False
        try:
            with running.scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._give_way_to_stop, running)
                    await self._make_runs(row, running)
                    tasks.cancel_scope.cancel()
                finished = True
        except Exception:
            log.exception("trial_broke", trial=row.id)
            running.hold(BROKEN)
        finally:
            if not finished:
                running.hold(trial_rows.DAEMON_STOPPED)
            await self._end(row.id, "stopped" if running.note else "done", running.note)

    async def _give_way_to_stop(self, running: _RunningTrial) -> None:
        await self._daemon.stopping.wait()
        running.hold(trial_rows.DAEMON_STOPPED)
        running.scope.cancel()

    async def _end(self, number: int, state: TrialState, note: str) -> None:
        with anyio.CancelScope(shield=True):
            now = self._daemon.machine.clock()
            await self._daemon.store.transact(trial_rows.end_trial, number, state, note, now)
            del self._running[number]
            self._changed.wake()

    async def _make_runs(self, row: TrialRow, running: _RunningTrial) -> None:
        purse = await self._open_purse(row)
        try:
            async with (
                open_session(self._daemon, row, purse) as session,
                anyio.create_task_group() as tasks,
            ):
                for _ in range(min(WORKERS, len(running.left))):
                    tasks.start_soon(self._work, session, running)
        except OrchestratorError as error:  # the files under trial cannot be used
            running.hold(str(error))

    async def _work(self, session: TrialSession, running: _RunningTrial) -> None:
        """Make runs, one after another, until none is left."""
        async with self._places, session.open_workers() as trier:
            while running.left:
                turn_id, nth = running.left.pop(0)
                try:
                    run = await self._make_run(trier, running, turn_id, nth)
                except OrchestratorError as error:
                    running.hold(str(error))
                    return
                if not await session.store_run(run):
                    running.hold(STOPPED)
                if not run.tried.done:
                    running.note = running.note or WAITS

    async def _make_run(
        self, trier: TurnTrier, running: _RunningTrial, turn_id: str, nth: int
    ) -> StoredRun:
        """Make a run; try again, after a while, if the model does not answer."""
        turn = await self._daemon.store.read(load_recorded_turn, turn_id)
        for _ in range(RETRIES):
            try:
                return await trier.try_turn(turn, nth, running.waiting.get((turn_id, nth)))
            except TrialHeldError as error:
                if not error.passes:
                    raise
            await anyio.sleep(WAIT)
        return await trier.try_turn(turn, nth, running.waiting.get((turn_id, nth)))

    async def _open_purse(self, row: TrialRow) -> TrialPurse:
        """Return what the trial may still spend: within its limits, and a share of the budget."""
        store, rules = self._daemon.store, self._daemon.calls.gate.build_rules()
        share = await store.transact(compute_share, rules, row.agent_id)
        spent = await store.read(trial_rows.sum_trial, row.id)
        usd = None if share.usd is None else spent.usd + share.usd
        tokens = None if share.tokens is None else spent.tokens + share.tokens
        return TrialPurse(
            _find_least(row.limit_usd, usd),
            _find_least(row.limit_tokens, tokens),
            spent.usd,
            spent.tokens,
        )


def _find_least(*limits: float | None) -> float | None:
    return min((one for one in limits if one is not None), default=None)


def _load_report(db: Database, number: TrialNumber) -> TrialReport:
    row, sums = trial_rows.load_trial(db, number.id), trial_rows.sum_trial(db, number.id)
    runs = [] if number.brief else trial_rows.list_runs(db, number.id)
    return build_report(row, sums, runs)


def _list_reports(db: Database) -> tuple[TrialReport, ...]:
    rows = trial_rows.list_trials(db)
    return tuple(build_report(row, trial_rows.sum_trial(db, row.id)) for row in rows)
