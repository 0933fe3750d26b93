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
from orchestrator.extensions.workbench.set_runs import SetReport, judge_set
from orchestrator.settings import Settings
from thinker.protocol.peer import Peer, RpcError

MAX_TOKENS = 1_000_000  # of all runs together, which count where a model has no price
PAUSES = (0.2, 0.5, 1.0, 2.0)  # seconds between two looks at a trial; the last one repeats
SECONDS = 30.0  # timeout of one answer


@dataclass(frozen=True, kw_only=True)
class SetRun:
    """A set to run under a ``name``: each turn ``times``, of which ``needed`` must be green.

    The limits are of all its trials together.
    """

    name: str
    tests: Sequence[OwnedTest]
    change: TrialChange = field(default_factory=TrialChange)
    times: int = 1
    needed: int = 1
    limit_usd: float | None = None
    limit_tokens: int | None = MAX_TOKENS

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
    return run.build_report(ended, problem)


async def _wait_for_trial(peer: Peer, trial: TrialReport) -> TrialReport:
    looks = 0
    while trial.state == "running":
        await anyio.sleep(PAUSES[min(looks, len(PAUSES) - 1)])
        looks += 1
        brief = TrialNumber(id=trial.id, brief=True)
        trial = await peer.call(TRIAL_SHOW, brief, TrialReport, timeout=SECONDS)
    return await peer.call(TRIAL_SHOW, TrialNumber(id=trial.id), TrialReport, timeout=SECONDS)
