"""Run one recorded turn again and judge the run."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import anyio

from orchestrator.control.trials import TrialRequest, TriedStep
from orchestrator.errors import ConfigError, OrchestratorError, WorkerError
from orchestrator.extensions.workbench.call_answers import CallAnswerer, FindObjection
from orchestrator.extensions.workbench.dry_replay import DryReplay
from orchestrator.extensions.workbench.fidelity import Judgement, RunFacts, judge_run
from orchestrator.extensions.workbench.invention import ResultInventor
from orchestrator.extensions.workbench.rebuilt_runs import build_recorded_run
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.extensions.workbench.trial_changes import (
    TodaysSources,
    add_edits,
    apply_change,
)
from orchestrator.extensions.workbench.trial_host import TrialHost
from orchestrator.extensions.workbench.trial_purse import RunPurse
from orchestrator.extensions.workbench.trial_reports import (
    build_record,
    build_tried_turn,
    list_kept_steps,
)
from orchestrator.extensions.workbench.trial_rows import StoredRequest, StoredRun
from orchestrator.extensions.workbench.trial_worker import (
    KeptWorker,
    ModelOnTrial,
    TrialHome,
    build_trial_spec,
)
from orchestrator.tools.policy import SENDING
from thinker.formats.prompts.bundle import PromptBundle
from thinker.protocol.methods import RecordedStep, StopReason, TurnResult

MINUTES = 15  # that one run may take
UNANSWERED = (StopReason.MODEL_ERROR, StopReason.ACCOUNT)
NO_STEPS: tuple[RecordedStep, ...] = ()
LoadSources = Callable[[RecordedTurn, int], Awaitable[TodaysSources]]


class TrialHeldError(OrchestratorError):
    """A trial cannot go on now: its money is spent, or the model does not answer.

    The latter ``passes``.
    """

    def __init__(self, reason: str, *, passes: bool = False) -> None:
        super().__init__(reason)
        self.passes = passes


@dataclass(frozen=True, kw_only=True)
class TurnTrier:
    """Runs turns of one trial, one after another, each in the newest workers.

    ``now`` returns seconds. ``pay`` makes the purse of a run of a turn by its name and model,
    ``load_sources`` reads what is made anew for a request of a turn, and ``find_objection`` is as
    `CallAnswerer` has it.
    """

    number: int
    stored: StoredRequest
    home: TrialHome
    live: KeptWorker
    dry: DryReplay
    now: Callable[[], float]
    pay: Callable[[RecordedTurn, str, str], RunPurse]
    load_sources: LoadSources
    find_objection: Callable[[RecordedTurn], FindObjection]

    @property
    def request(self) -> TrialRequest:
        """What the trial was asked to do."""
        return self.stored.request

    async def try_turn(
        self, turn: RecordedTurn, nth: int, earlier: StoredRun | None = None
    ) -> StoredRun:
        """Run a turn, or go on with an ``earlier`` run that waited for the result of a call.

        Raises:
            TrialHeldError: the run did not come to an end, and can be made later.
        """
        obstacle = (await self.dry.rebuild_turn(turn)).obstacle
        if obstacle:
            return self._refuse_turn(turn, nth, obstacle)
        try:
            host = await self._run(turn, nth, earlier)
        except ConfigError as error:
            return self._refuse_turn(turn, nth, str(error))
        facts = RunFacts(
            build_record(turn.question, host.steps),
            requests=len(turn.requests) - host.first,
            changed=self.request.change.changes_anything,
            stopped=host.stopped,
        )
        waits = host.unanswered and self.request.unrecorded == "ask"
        tried = build_record(turn.question, (*list_kept_steps(turn, host.first), *host.steps))
        found = build_tried_turn(turn, nth, tried, judge_run(facts), done=not waits)
        return StoredRun(tried=found, steps=tuple(host.raw) if waits else ())

    def _refuse_turn(self, turn: RecordedTurn, nth: int, reason: str) -> StoredRun:
        tried = build_record(turn.question, ())
        return StoredRun(tried=build_tried_turn(turn, nth, tried, Judgement("impossible", reason)))

    async def _run(self, turn: RecordedTurn, nth: int, earlier: StoredRun | None) -> TrialHost:
        first = min(self.request.change.from_step, len(turn.requests) - 1)
        part = turn.parts[turn.requests[first].part]
        model = self._choose_model(turn, first)
        spec = build_trial_spec(
            self.home,
            part,
            ModelOnTrial(name=model, called=True),
            self.live.means.folder,
            self.live.means.files,
        )
        today = await self.load_sources(turn, first)
        work = f"trial/{self.number}/{turn.turn_id}/{nth}"
        run = build_recorded_run(turn, first, self.home.agents, work)
        edits = self.home.list_edits(part.agent_id)
        run = apply_change(run, add_edits(self.request.change, edits), part, today)
        deadline = self.now() + MINUTES * 60
        before = NO_STEPS if earlier is None else earlier.steps
        run = run.model_copy(update={"deadline": deadline, "steps": (*run.steps, *before)})
        purse, worker = self.pay(turn, work, model), await self.live.find_worker(spec)
        tools = {tool.name: tool for tool in run.tools}
        answerer = CallAnswerer(
            turn=turn,
            definition=self.home.agents.find_agent(part.agent_id),
            tools=tools,
            denied=SENDING if run.recipe in ("proactive", "hook") else (),
            files=self.live.means.files,
            unrecorded=self.request.unrecorded,
            typed=self.stored.typed,
            find_objection=self.find_objection(turn),
            invent=ResultInventor(
                worker=worker, purse=purse, turn=turn, tools=tools, deadline=deadline
            ).invent_result,
        )
        steps: list[TriedStep] = [] if earlier is None else [*earlier.tried.tried.steps[first:]]
        host = TrialHost(
            turn=turn,
            run=run,
            purse=purse,
            find_first=answerer.find_first,
            find_last=answerer.find_last,
            bundle=None if run.prompt is None else PromptBundle.model_validate(run.prompt),
            first=first,
            steps=steps,
            raw=[*before],
        )
        await self._hold_turn(partial(worker.run_turn, run, host, self.now()), host, purse)
        return host

    async def _hold_turn(
        self, start: Callable[[], Awaitable[TurnResult]], host: TrialHost, purse: RunPurse
    ) -> None:
        """Wait for the end of a run, which its host may have brought about."""
        refused = await purse.reserve_step(host.number)
        if refused:
            raise TrialHeldError(refused)
        try:
            result = await start()
        except WorkerError as error:
            if not host.stopped:
                raise TrialHeldError(str(error), passes=True) from error
        else:
            if result.stop_reason in UNANSWERED:
                reason = f"the model did not answer: {result.error or result.text}"
                raise TrialHeldError(reason, passes=True)
        finally:
            with anyio.CancelScope(shield=True):  # the broker tells what a stopped call has used
                await purse.release()
        if host.spent:
            raise TrialHeldError(host.stopped)

    def _choose_model(self, turn: RecordedTurn, first: int) -> str:
        """Return the model to try: the trial's, that of the file under trial, or the recorded."""
        change, sent = self.request.change, turn.requests[first]
        if change.model is not None:
            return change.model
        agent_id = turn.parts[sent.part].agent_id
        files = [] if self.home.before is None else [self.home.before, self.home.agents]
        named = [agent for file in files if (agent := file.find_agent(agent_id)) is not None]
        models = [f"{agent.llm_provider}/{agent.model or ''}" for agent in named]
        return models[-1] if len({*models}) > 1 else sent.model
