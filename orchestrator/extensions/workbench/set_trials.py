"""Run a set in a daemon: one trial for each agent, and a report on all of its turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from orchestrator.cli.client import connect_to_daemon
from orchestrator.control.trials import (
    TRIAL_SHOW,
    TRIAL_START,
    TrialChange,
    TrialNumber,
    TrialReport,
    TrialRequest,
    TriedTurn,
)
from orchestrator.extensions.workbench.saved_turns import OwnedTest
from orchestrator.extensions.workbench.set_runs import (
    SETS_JUDGE,
    SetQuestion,
    SetReport,
    judge_set,
)
from orchestrator.extensions.workbench.turn_checks import parse_checks
from orchestrator.settings import Settings
from thinker.protocol.peer import Peer, RpcError

MAX_TOKENS = 1_000_000  # of all runs together, which count where a model has no price
PAUSES = (0.2, 0.5, 1.0, 2.0)  # seconds between two looks at a trial; the last one repeats
SECONDS = 30.0  # timeout of one answer
JUDGING = 3600.0  # the same, of all that models judge in a trial


@dataclass(frozen=True, kw_only=True)
class SetRun:
    """A set to run under a ``name``: each turn ``times``, of which ``needed`` must be green.

    The limits are of all its trials together. ``confirmed`` is as `SetQuestion` has it.
    """

    name: str
    tests: Sequence[OwnedTest]
    change: TrialChange = field(default_factory=TrialChange)
    times: int = 1
    needed: int = 1
    limit_usd: float | None = None
    limit_tokens: int | None = MAX_TOKENS
    confirmed: str = ""

    def build_requests(self) -> Mapping[str, TrialRequest]:
        """Return the request for each agent, with its share of the limits."""
        turns: dict[str, list[str]] = {}
        for agent_id, saved in self.tests:
            turns.setdefault(agent_id, []).append(saved.turn)
        return {
            agent_id: TrialRequest(
                turns=tuple(own),
                change=self.change,
                kind="test",
                times=self.times,
                limit_usd=self.limit_usd and self.limit_usd * len(own) / len(self.tests),
                limit_tokens=self.limit_tokens
                and max(1, self.limit_tokens * len(own) // len(self.tests)),
                note=f"set {self.name}"[:200],
            )
            for agent_id, own in turns.items()
        }

    def build_report(self, trials: Sequence[TrialReport], problem: str) -> SetReport:
        """Return what the trials say; ``problem`` is why others could not begin."""
        runs: list[TriedTurn] = [run for trial in trials for run in trial.turns]
        saved = [test.saved for test in self.tests]
        stopped = next((one.note for one in trials if one.state == "stopped"), "")
        return SetReport(
            name=self.name,
            outcomes=judge_set(saved, runs, self.times, self.needed),
            trials=tuple(trial.id for trial in trials),
            usd=sum(trial.usd for trial in trials),
            problem=problem or stopped,
        )


async def run_set(settings: Settings, run: SetRun) -> SetReport:
    """Run a set in the daemon of a home and wait until its trials have ended.

    Raises:
        NotRunningError: no daemon runs.
    """
    async with connect_to_daemon(settings) as peer:
        begun: list[TrialReport] = []
        problem = ""
        for request in run.build_requests().values():
            try:
                begun.append(await peer.call(TRIAL_START, request, TrialReport, timeout=SECONDS))
            except RpcError as error:
                problem = problem or str(error)
        ended = [await _wait_for_trial(peer, one) for one in begun]
        try:
            ended = [await _ask_models(peer, run, one) for one in ended]
        except (RpcError, TimeoutError) as error:
            problem = problem or f"no model judged the answers: {error}"
    return run.build_report(ended, problem)


async def _wait_for_trial(peer: Peer, trial: TrialReport) -> TrialReport:
    looks = 0
    while trial.state == "running":
        await anyio.sleep(PAUSES[min(looks, len(PAUSES) - 1)])
        looks += 1
        brief = TrialNumber(id=trial.id, brief=True)
        trial = await peer.call(TRIAL_SHOW, brief, TrialReport, timeout=SECONDS)
    return await peer.call(TRIAL_SHOW, TrialNumber(id=trial.id), TrialReport, timeout=SECONDS)


async def _ask_models(peer: Peer, run: SetRun, trial: TrialReport) -> TrialReport:
    """Return a trial with what models judge of it, if the checks of its turns ask for that."""
    tried = {one.turn_id for one in trial.turns}
    tests = tuple(test.saved for test in run.tests if test.saved.turn in tried)
    if not any(check.model for test in tests for check in parse_checks(test.checks)):
        return trial
    asked = SetQuestion(id=trial.id, tests=tests, confirmed=run.confirmed)
    return await peer.call(SETS_JUDGE, asked, TrialReport, timeout=JUDGING)
