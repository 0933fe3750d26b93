"""Which histories are run, in which order, and their sums.

First one without a kill counts the boundaries; then every boundary with every victim, pairs (the
restart is killed, too) and random histories of two to five kills.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from orchestrator.crashpoints import SUPERVISOR, WORKER
from orchestrator.selftest.history import History, Kill, Life, spell
from orchestrator.selftest.runner import Reached, Result, run_history
from orchestrator.selftest.scenario import POISON, STANDARD, Scenario

BOUNDARIES = "every boundary"
PAIRS = "pairs"
RANDOM = "random"
POISONED = "poison"
QUICK_BOUNDARIES = 22  # histories that leave a test run its two minutes
QUICK_OTHERS = 3
TRIES = 3  # of a boundary: chats run side by side, so not every run reaches every one
LONGEST = 5  # kills in a random history
POISON_DEATHS = 3
EARLY = 3  # how often a boundary is reached even when little is left to do

DEATHS: History = (tuple(Kill(WORKER, f"run_turn:before#{n + 1}") for n in range(POISON_DEATHS)),)


@dataclass(frozen=True)
class Plan:
    """One history to run."""

    phase: str
    history: History
    scenario: Scenario = field(default_factory=lambda: STANDARD)


@dataclass(frozen=True)
class Bench:
    """Where and how histories are run; ``environ`` is added to the daemons' environment."""

    folder: Path
    jobs: int
    environ: Mapping[str, str] = field(default_factory=dict)
    keep: bool = False

    async def run(self, plan: Plan, number: int) -> Result:
        """One history; once more, where its only kill was not reached."""
        for attempt in range(TRIES):
            home = self.folder / f"{number}-{attempt}"
            result = await run_history(
                plan.history, plan.scenario, home, self.environ, keep=self.keep
            )
            single = len(plan.history) == 1
            if result.violations or not (single and result.unreached):
                break
        return result


@dataclass
class Tally:
    """The sums of a phase."""

    phase: str
    results: list[Result] = field(default_factory=list)

    @property
    def verified(self) -> int:
        """Kills that were seen to have happened where they should."""
        return sum(result.verified for result in self.results)

    @property
    def unreached(self) -> list[str]:
        """Kills whose boundary was not reached."""
        return [kill for result in self.results for kill in result.unreached]

    @property
    def strays(self) -> int:
        """Placeholders that were left."""
        return sum(result.strays for result in self.results)

    @property
    def unknown(self) -> int:
        """Calls of unknown outcome."""
        return sum(result.unknown for result in self.results)

    @property
    def seconds(self) -> float:
        """Time that the histories took, one after the other."""
        return sum(result.seconds for result in self.results)

    def broken(self, check: str = "") -> int:
        """Violations of the checks whose names begin so."""
        return sum(
            violation.check.startswith(check)
            for result in self.results
            for violation in result.violations
        )


def singles(reached: Iterable[Reached]) -> list[Plan]:
    """Each boundary with the supervisor as victim and, where one was alive, the workers."""
    plans = []
    for item in reached:
        plans.append(Plan(BOUNDARIES, ((Kill(SUPERVISOR, item.place),),)))
        if item.workers:
            plans.append(Plan(BOUNDARIES, ((Kill(WORKER, item.place),),)))
    return plans


def one_of_each(plans: Sequence[Plan], rng: random.Random) -> list[Plan]:
    """One plan for each boundary's name, with either victim."""
    shuffled = rng.sample(plans, len(plans))
    return list({plan.history[0][0].place.partition("#")[0]: plan for plan in shuffled}.values())


def pair(reached: Sequence[Reached], rng: random.Random) -> Plan:
    """A kill anywhere, and one of the supervisor soon after the restart."""
    early = [item for item in reached if int(item.place.partition("#")[2]) <= EARLY]
    first = Kill(SUPERVISOR, rng.choice(reached).place)
    return Plan(PAIRS, ((first,), (Kill(SUPERVISOR, rng.choice(early).place),)))


def random_history(reached: Sequence[Reached], milliseconds: int, rng: random.Random) -> Plan:
    """Two to five kills of random victims at random boundaries and instants."""
    lives: list[Life] = []
    life: list[Kill] = []
    for _ in range(rng.randint(2, LONGEST)):
        victim = rng.choice((SUPERVISOR, SUPERVISOR, WORKER))
        if rng.random() < 1 / 3:
            life.append(Kill(victim, ms=rng.randrange(1, milliseconds)))
        else:
            life.append(Kill(victim, rng.choice(reached).place))
        if victim == SUPERVISOR:
            lives.append(tuple(life))
            life = []
    if life:
        lives.append(tuple(life))
    return Plan(RANDOM, tuple(lives))


def plans(counted: Result, histories: int, seed: int, *, quick: bool) -> list[Plan]:
    """What to run after the counting run. The same seed gives the same kills."""
    rng = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    boundaries = singles(counted.reached)
    if quick:
        boundaries = one_of_each(boundaries, rng)[:QUICK_BOUNDARIES]
        pairs = randoms = QUICK_OTHERS
    else:
        boundaries = rng.sample(boundaries, min(len(boundaries), histories))
        pairs = (histories - len(boundaries)) // 3
        randoms = max(0, histories - len(boundaries) - pairs - 1)
    span = round(counted.seconds * 1000)
    return [
        *boundaries,
        *(pair(counted.reached, rng) for _ in range(pairs)),
        *(random_history(counted.reached, span, rng) for _ in range(randoms)),
        Plan(POISONED, DEATHS, POISON),
    ]


async def run_all(
    bench: Bench, todo: Sequence[Plan], done: Callable[[Plan, Result], None]
) -> list[Tally]:
    """Run every plan, ``bench.jobs`` at a time; ``done`` is told of each."""
    tallies = {plan.phase: Tally(plan.phase) for plan in todo}
    numbered = enumerate(todo)

    async def work() -> None:
        for number, plan in numbered:
            result = await bench.run(plan, number)
            tallies[plan.phase].results.append(result)
            done(plan, result)

    async with anyio.create_task_group() as tasks:
        for _ in range(bench.jobs):
            tasks.start_soon(work)
    return list(tallies.values())


async def count(bench: Bench) -> Result:
    """A history without a kill: which boundaries there are."""
    return await run_history((), STANDARD, bench.folder / "count", bench.environ, keep=bench.keep)


def reproduce(plan: Plan) -> str:
    """The option that runs a plan again."""
    return f"--history '{spell(plan.history)}'"
