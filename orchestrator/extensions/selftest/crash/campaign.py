"""Choose the histories of a self-test, run them and sum up the results.

A history without a kill counts the boundaries first. Then comes every boundary with every victim,
pairs (the restart is killed, too) and random histories of two to five kills.
"""

import random
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path

import anyio.to_thread

from orchestrator.errors import ConfigError, OrchestratorError
from orchestrator.extensions.selftest.crash.daemon_process import StartDaemon
from orchestrator.extensions.selftest.crash.histories import (
    History,
    Kill,
    Life,
    format_history,
    parse_history,
)
from orchestrator.extensions.selftest.crash.journals import FileJournals, Journals
from orchestrator.extensions.selftest.crash.runner import Outcomes, ReachedBoundary, Result, Runner
from orchestrator.extensions.selftest.crash.scenario import SCENARIOS
from orchestrator.failpoints import BROKER, SESSION, SUPERVISOR, WORKER

BOUNDARIES = "every boundary"
PAIRS = "pairs"
RANDOM = "random"
EFFECTS = "effects"
GUARDED = "guarded"
FAILING = "failing"
PAIRED = "pairing"
POISONED = "poison"
BROKERED = "broker"
CUT_OFF = "sessions"
QUICK_BOUNDARIES = 19  # as many histories as fit into two minutes
QUICK_OTHERS = 3
QUICK_SESSIONS = 8
AROUND = {  # the boundaries to kill at in each special scenario
    EFFECTS: ("plan", "begin", "effect", "finish"),  # from T3 to T5
    GUARDED: (
        "fire_task",
        "unpark",
        "effect",
    ),  # a due task, a decision and the call that it allows
    FAILING: ("start_preview", "preview", "placeholder", "requeue"),  # while messages fail
    PAIRED: ("ingest", "approve", "open_next"),  # a stranger writes, is let in and is answered
}
# Where the broker is killed: as workers begin model calls, and while the answers are shown.
ASKING = ("run_turn", "plan", "start_preview", "preview", "placeholder", "edit")
TRIES = 3  # attempts to reach a boundary: chats run concurrently, so runs differ
VICTIMS = (SUPERVISOR, SUPERVISOR, WORKER, BROKER)  # of a random history
MAX_KILLS = 5  # in a random history
POISON_DEATHS = 3
EARLY = 3  # highest count of a boundary that a restart with little work still reaches

DEATHS: History = (tuple(Kill(WORKER, f"run_turn:before#{n + 1}") for n in range(POISON_DEATHS)),)


@dataclass(frozen=True)
class Plan:
    """One history to run."""

    phase: str
    history: History
    scenario: str = "standard"

    def __str__(self) -> str:
        return f"{self.scenario}/{format_history(self.history)}"


def parse_plan(text: str) -> Plan:
    """Parse a plan's text; the standard scenario may be left out.

    Raises:
        ConfigError: the text has another form.
    """
    name, _, history = text.rpartition("/")
    if name and name not in SCENARIOS:
        raise ConfigError(f"--history: there is no scenario {name!r}; use {', '.join(SCENARIOS)}")
    return Plan(RANDOM, parse_history(history), name or "standard")


@dataclass(frozen=True)
class Bench:
    """Runs histories below ``folder``, ``jobs`` at a time; ``start`` starts the daemons.

    ``environ`` is added to their environment; their journals are in ``journals``.
    """

    folder: Path
    jobs: int
    start: StartDaemon
    journals: Journals = field(default_factory=FileJournals)
    environ: Mapping[str, str] = field(default_factory=dict)
    keep: bool = False

    async def run(self, plan: Plan, number: int) -> Result:
        """Run one history; try again if the history's only kill was not reached."""
        for attempt in range(TRIES):
            result = await self.run_once(plan, f"{number}-{attempt}")
            single = len(plan.history) == 1
            if result.violations or not (single and result.unreached):
                break
        return result

    async def run_once(self, plan: Plan, name: str) -> Result:
        """Run one history; with ``keep`` its home stays if there are violations."""
        home, scenario = self.folder / name, SCENARIOS[plan.scenario]
        runner = Runner(
            plan.history, scenario, home, self.environ, start=self.start, journals=self.journals
        )
        result = await runner.run()
        await anyio.to_thread.run_sync(self.journals.remove_journal, home)
        if not (self.keep and result.violations):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, home, ignore_errors=True))
        return result


@dataclass(kw_only=True)
class Tally(Outcomes):
    """The sums of the results of a phase."""

    phase: str
    histories: int = 0

    def add(self, result: Result) -> None:
        self.histories += 1
        for item in fields(Outcomes):
            setattr(self, item.name, getattr(self, item.name) + getattr(result, item.name))

    @property
    def boundary_count(self) -> int:
        """The number of boundaries with a kill."""
        return len({item.place for item in self.reached if item.killed})

    def count_violations(self, check: str = "") -> int:
        """Count the violations of the checks whose names begin with ``check``."""
        return sum(violation.check.startswith(check) for violation in self.violations)


def plan_single_kills(reached: Iterable[ReachedBoundary]) -> list[Plan]:
    """Plan a kill of the supervisor at each boundary, and of the workers where one was alive."""
    return [
        Plan(BOUNDARIES, ((Kill(victim, item.place),),))
        for item in reached
        for victim in (SUPERVISOR, WORKER)
        if victim == SUPERVISOR or item.workers
    ]


def plan_broker_kills(reached: Iterable[ReachedBoundary]) -> list[Plan]:
    """Plan a kill of the broker at each boundary near a model call."""
    return [
        Plan(BROKERED, ((Kill(BROKER, item.place),),))
        for item in reached
        if item.workers and item.place.partition(":")[0] in ASKING
    ]


def plan_session_ends(reached: Iterable[ReachedBoundary]) -> list[Plan]:
    """Plan the end of the daemon's sessions at each boundary, for journals on a server."""
    return [Plan(CUT_OFF, ((Kill(SESSION, item.place),),)) for item in reached]


def plan_scenario_kills(name: str, reached: Iterable[ReachedBoundary]) -> list[Plan]:
    """Plan kills at the boundaries of a special scenario, in the phase of the same name."""
    near = [item for item in reached if item.place.partition(":")[0] in AROUND[name]]
    return [replace(plan, phase=name, scenario=name) for plan in plan_single_kills(near)]


def choose_one_per_boundary(plans: Sequence[Plan], rng: random.Random) -> list[Plan]:
    """Choose one plan for each name of a boundary, with either victim."""
    shuffled = rng.sample(plans, len(plans))
    return list({plan.history[0][0].place.partition("#")[0]: plan for plan in shuffled}.values())


def plan_kill_pair(reached: Sequence[ReachedBoundary], rng: random.Random) -> Plan:
    """Plan a kill anywhere, and a kill of the supervisor soon after the restart."""
    early = [item for item in reached if int(item.place.partition("#")[2]) <= EARLY]
    first = Kill(SUPERVISOR, rng.choice(reached).place)
    return Plan(PAIRS, ((first,), (Kill(SUPERVISOR, rng.choice(early).place),)))


def plan_random_history(
    counted: Result, rng: random.Random, victims: Sequence[str] = VICTIMS
) -> Plan:
    """Plan two to five kills of random victims at random boundaries and times."""
    lives: list[Life] = []
    life: list[Kill] = []
    for _ in range(rng.randint(2, MAX_KILLS)):
        victim = rng.choice(victims)
        if rng.random() < 1 / 3:
            life.append(Kill(victim, ms=rng.randrange(1, round(counted.seconds * 1000))))
        else:
            life.append(Kill(victim, rng.choice(counted.reached).place))
        if victim == SUPERVISOR:
            lives.append(tuple(life))
            life = []
    if life:
        lives.append(tuple(life))
    return Plan(RANDOM, tuple(lives))


def plan_histories(
    counted: Mapping[str, Result],
    pairs: int,
    random_histories: int,
    seed: int,
    *,
    server: bool = False,
) -> list[Plan]:
    """Plan every boundary, and these numbers of pairs and random histories.

    ``counted`` are the runs without a kill, by scenario. The same seed gives the same kills.
    ``server``: whether a server has the journals.
    """
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    standard = counted["standard"]
    victims = (*VICTIMS, SESSION) if server else VICTIMS
    return [
        *plan_single_kills(standard.reached),
        *chain.from_iterable(plan_scenario_kills(name, counted[name].reached) for name in AROUND),
        *plan_broker_kills(standard.reached),
        *(plan_session_ends(standard.reached) if server else ()),
        *(plan_kill_pair(standard.reached, rng) for _ in range(pairs)),
        *(plan_random_history(standard, rng, victims) for _ in range(random_histories)),
        Plan(POISONED, DEATHS, "poison"),
    ]


def plan_quick_histories(
    counted: Mapping[str, Result], seed: int, *, server: bool = False
) -> list[Plan]:
    """Plan a sample of all kinds that fits into two minutes.

    On a server, trials that files also have are rarer.
    """
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    standard = counted["standard"]
    boundaries, others = (QUICK_SESSIONS, 1) if server else (QUICK_BOUNDARIES, QUICK_OTHERS)
    special = (
        rng.sample(plan_scenario_kills(name, counted[name].reached), others) for name in AROUND
    )
    return [
        *choose_one_per_boundary(plan_single_kills(standard.reached), rng)[:boundaries],
        *chain.from_iterable(special),
        *rng.sample(plan_broker_kills(standard.reached), others),
        *(plan_kill_pair(standard.reached, rng) for _ in range(others)),
        *(plan_random_history(standard, rng) for _ in range(others)),
        *(
            choose_one_per_boundary(plan_session_ends(standard.reached), rng)[:QUICK_SESSIONS]
            if server
            else ()
        ),
        Plan(POISONED, DEATHS, "poison"),
    ]


def make_tallies(plans: Sequence[Plan]) -> dict[str, Tally]:
    return {plan.phase: Tally(phase=plan.phase) for plan in plans}


async def run_plans(
    bench: Bench, plans: Sequence[Plan], on_result: Callable[[Plan, Result], None]
) -> None:
    """Run every plan, ``bench.jobs`` at a time; call ``on_result`` as each ends."""
    numbered = enumerate(plans)

    async def run_next_plans() -> None:
        for number, plan in numbered:
            result = await bench.run(plan, number)
            on_result(plan, result)

    async with anyio.create_task_group() as tasks:
        for _ in range(bench.jobs):
            tasks.start_soon(run_next_plans)


async def count_boundaries(bench: Bench) -> dict[str, Result]:
    """Run each scenario without a kill; raise `OrchestratorError` if a check fails even then."""
    return {name: await _count_scenario(bench, name) for name in ("standard", *AROUND)}


async def _count_scenario(bench: Bench, scenario: str) -> Result:
    """Run a history without a kill, to learn the boundaries of a scenario."""
    result = await bench.run_once(Plan(scenario, (), scenario), f"count-{scenario}")
    if result.violations:
        raise OrchestratorError(
            f"the self-test fails without any kill: {result.violations[0].sentence}"
        )
    return result
