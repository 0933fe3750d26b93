"""Try the cases of AgentDojo's suites, several beside each other, and count what came of them."""

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from orchestrator.extensions.selftest.crash.scratch_place import find_memory_folder
from orchestrator.extensions.selftest.dojo.dojo_world import Case, CaseResult, DojoWorld, run_dojo

SUITES = ("workspace", "travel", "banking", "slack")
PLACES = 6  # cases at a time; they mostly wait for the journal
SETUP = "python -m venv {folder} && {folder}/bin/python -m pip install agentdojo==0.1.35"


@dataclass(frozen=True)
class Trial:
    """How a suite is tried: with settings of the agents, and a person who may be absent.

    ``pairs`` is how many pairs of a task and an order are tried of each suite, None for all; without
    any, the tasks are tried alone.
    """

    name: str
    fields: Mapping[str, object] = field(default_factory=dict)
    absent: bool = False
    pairs: int | None = 0


@dataclass
class SuiteFigures:
    """The results of a trial of a suite; ``words`` counts orders that need no call."""

    suite: str
    trial: str
    seconds: float = 0.0
    results: list[CaseResult] = field(default_factory=list)
    words: int = 0

    @property
    def won(self) -> list[CaseResult]:
        return [one for one in self.results if one.won]

    @property
    def solved(self) -> int:
        return sum(one.solved for one in self.results)

    @property
    def failed(self) -> list[CaseResult]:
        return [one for one in self.results if not one.solved]

    @property
    def asked(self) -> list[CaseResult]:
        return [one for one in self.results if one.questions]

    @property
    def questions(self) -> int:
        return sum(len(one.questions) for one in self.results)


def find_dojo_folder() -> Path:
    """Return the folder of AgentDojo's environment, beside the packages of this one."""
    return Path(sys.prefix) / "agentdojo"


def find_dojo_python() -> str | None:
    """Return the Python of AgentDojo's environment, None if it is not installed."""
    python = find_dojo_folder() / "bin" / "python"
    return str(python) if python.exists() else None


def select_cases(
    suite: str, tasks: Sequence[str], orders: Iterable[str], pairs: int | None, seed: int
) -> list[Case]:
    """Return the cases of a suite: its tasks alone, or so many pairs, of each task about alike."""
    if pairs == 0:
        return [Case(suite, task) for task in tasks]
    chosen = random.Random(seed)  # noqa: S311 - no secret
    rounds: list[tuple[int, Case]] = []
    for task in tasks:
        mixed = list(orders)
        chosen.shuffle(mixed)
        rounds += [(number, Case(suite, task, order)) for number, order in enumerate(mixed)]
    rounds.sort(key=lambda pair: pair[0])
    return [case for _, case in rounds][:pairs]


async def try_suite(
    suite: str, trial: Trial, python: str, seed: int, tell: Callable[[CaseResult], None]
) -> SuiteFigures:
    """Try a suite on a daemon of its own and tell each result."""
    figures = SuiteFigures(suite, trial.name)
    folder = Path(tempfile.mkdtemp(prefix="dojo-", dir=find_memory_folder()))
    started = time.monotonic()
    try:
        async with AsyncExitStack() as stack:
            running = run_dojo(folder, suite, python, PLACES, trial.fields)
            world, hosted, places = await stack.enter_async_context(running)
            listed = await hosted.ask("list")
            orders: dict[str, bool] = listed["orders"]
            cases = select_cases(suite, listed["tasks"], orders, trial.pairs, seed)
            figures.words = sum(not orders.get(case.order, True) for case in cases)
            await _try_cases(world, places, cases, trial, figures.results, tell)
    finally:
        shutil.rmtree(folder)
    figures.seconds = time.monotonic() - started
    return figures


async def _try_cases(
    world: DojoWorld,
    places: tuple[str, ...],
    cases: list[Case],
    trial: Trial,
    results: list[CaseResult],
    tell: Callable[[CaseResult], None],
) -> None:
    """Try cases in all places at a time."""
    left = iter(cases)

    async def fill_place(place: str) -> None:
        for case in left:
            result = await world.try_case(place, case, absent=trial.absent)
            results.append(result)
            tell(result)

    async with anyio.create_task_group() as tasks:
        for place in places:
            tasks.start_soon(fill_place, place)
