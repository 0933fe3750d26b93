"""Try the cases of AgentDojo's suites, several beside each other, and count what came of them."""

import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from orchestrator.extensions.selftest.crash.scratch_place import find_memory_folder
from orchestrator.extensions.selftest.dojo.dojo_world import (
    Case,
    CaseResult,
    DojoWorld,
    HostedSuites,
    host_suites,
    run_dojo,
)

SUITES = tuple(re.findall(r"\w+", "workspace travel banking slack"))  # as AgentDojo names them
PLACES = tuple(f"dojo{number}" for number in range(1, 7))  # cases at a time; they mostly wait
PACKAGE = "agentdojo==0.1.35"


@dataclass(frozen=True)
class DojoTrial:
    """How a suite is tried: with settings of the agents, and a person who may be absent.

    ``pairs`` is how many pairs of a task and an order are tried of each suite, None for all, and 0
    for the tasks alone.
    """

    name: str
    fields: Mapping[str, object] = field(default_factory=dict)
    absent: bool = False
    pairs: int | None = 0
    guarded: bool = True  # the rules that are tried are on


@dataclass
class SuiteFigures:
    """The results of a trial of a suite; ``words`` counts orders that need no call."""

    suite: str
    trial: DojoTrial
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
    def cases_with_questions(self) -> int:
        return sum(bool(one.questions) for one in self.results)

    @property
    def questions(self) -> int:
        return sum(len(one.questions) for one in self.results)


def find_dojo_folder() -> Path:
    """Return the folder of AgentDojo's environment, beside the packages of this one."""
    return Path(sys.prefix) / "agentdojo"


def find_dojo_python() -> str | None:
    """Return the Python of AgentDojo's environment, None if it is not installed."""
    folder = find_dojo_folder()
    installed = any(folder.glob("lib/python*/site-packages/agentdojo"))
    return str(folder / "bin" / "python") if installed else None


def list_setup_commands() -> tuple[tuple[str, ...], ...]:
    """Return the commands that install AgentDojo into an environment of its own."""
    folder = find_dojo_folder()
    python = str(folder / "bin" / "python")
    return (
        (sys.executable, "-m", "venv", str(folder)),
        (python, "-m", "pip", "install", "--quiet", PACKAGE),
    )


def install_dojo() -> str:
    """Install AgentDojo into an environment of its own, once, and return its Python.

    Raises:
        CalledProcessError: it cannot be installed; the reason is on stderr.
    """
    if find_dojo_python() is None:
        for command in list_setup_commands():
            subprocess.run(command, check=True)
    return str(find_dojo_python())


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


async def try_suites(
    suites: Iterable[str],
    trials: Sequence[DojoTrial],
    python: str,
    seed: int,
    tell: Callable[[CaseResult], None],
) -> AsyncIterator[SuiteFigures]:
    """Yield the results of each trial of each suite, with AgentDojo in this Python."""
    async with host_suites(python) as hosted:
        for trial in trials:
            for suite in suites:
                yield await try_suite(suite, trial, hosted, seed, tell)


async def try_suite(
    suite: str,
    trial: DojoTrial,
    hosted: HostedSuites,
    seed: int,
    tell: Callable[[CaseResult], None],
) -> SuiteFigures:
    """Try a suite on a daemon of its own and tell each result."""
    figures = SuiteFigures(suite, trial)
    started = time.monotonic()
    listed = await hosted.ask(suite, "list")
    orders: dict[str, bool] = listed["orders"]
    cases = select_cases(suite, listed["tasks"], orders, trial.pairs, seed)
    figures.words = sum(not orders.get(case.order, True) for case in cases)
    folder = Path(tempfile.mkdtemp(prefix="dojo-", dir=find_memory_folder()))
    try:
        async with run_dojo(folder, suite, hosted, PLACES, trial.fields) as world:
            await _try_cases(world, cases, trial, figures.results, tell)
    finally:
        shutil.rmtree(folder)
    figures.seconds = time.monotonic() - started
    return figures


async def _try_cases(
    world: DojoWorld,
    cases: list[Case],
    trial: DojoTrial,
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
        for place in PLACES:
            tasks.start_soon(fill_place, place)
