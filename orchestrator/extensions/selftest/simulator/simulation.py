"""Run one course: the daemon's lives until all work is done, then the checks."""

import itertools
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator import failpoints
from orchestrator.extensions.selftest.crash import evidence, invariants, recovery
from orchestrator.extensions.selftest.crash.evidence import Death, Evidence, StepRow
from orchestrator.extensions.selftest.crash.invariants import Violation
from orchestrator.extensions.selftest.crash.scenario import SERVER
from orchestrator.extensions.selftest.simulator.history_plan import HistoryPlan
from orchestrator.extensions.selftest.simulator.lossy_disk import LossyDisk
from orchestrator.extensions.selftest.simulator.simulated_home import SimulatedHome
from orchestrator.extensions.selftest.simulator.simulated_life import SimulatedLife
from orchestrator.extensions.selftest.simulator.simulated_machine import (
    SimulatedMachine,
    VirtualWriter,
)
from orchestrator.extensions.selftest.simulator.simulated_world import EPOCH, SimulatedWorld
from orchestrator.extensions.selftest.simulator.virtual_loop import StuckError, VirtualLoop
from orchestrator.journal.db.sqlite_storage import SqliteStorage, open_database
from orchestrator.journal.db.store import Store
from orchestrator.settings import Settings

FRESH = 10  # one in this number of seeds begins without a journal, the others with an empty one
DOWN = 1.0  # seconds from an end to the next start


class Simulation:
    """One history in the folder ``home``, which must be empty.

    ``trace`` are the failpoints that were passed: equal for equal courses.
    """

    def __init__(self, course: HistoryPlan, home: Path) -> None:
        self._course = course
        self._home = home
        self._settings = Settings.model_validate(
            {"home": home, "drain_seconds": 5, "fast_tasks": True}
        )
        self._journal = self._settings.paths.journal
        self._world = SimulatedWorld(course.build_scenario(), course.make_random("platform"))
        self._files = SimulatedHome(course, self._settings.paths, self._world)
        self._left = sorted(course.select_events().values(), key=lambda event: event.at)
        self._tasks = itertools.count()  # numbers of tasks
        self._now = 0.0  # seconds since the beginning
        self._deaths: list[Death] = []
        self._problems: list[Violation] = []
        self._kills = self._boots = 0
        self.trace: list[str] = []

    def run(self) -> list[Violation]:
        """Run all lives and return the violations."""
        self._files.write_files()
        if self._course.seed % FRESH:
            self._journal.write_bytes(_make_empty_journal())
        number, ended = 0, False
        while not ended:
            ended = self._run_life(number)
            number += 1
        if self._problems:
            return self._problems
        found = Evidence(
            scenario=self._world.scenario,
            journal=evidence.read_journal(self._journal, check=True),
            events=self._world.ledger.read_events(),
            deaths=tuple(self._deaths),
            kills=self._kills + self._boots + self._world.platform.faults,
            boots=self._boots,
            interrupts=self._course.while_busy == "interrupt",
        )
        impatient = (Violation("flood", sentence) for sentence in self._world.platform.impatient)
        return [*invariants.check_evidence(found), *impatient, *self._check_tool_results(found)]

    def _check_tool_results(self, found: Evidence) -> Iterator[Violation]:
        """Yield calls of tool servers that ended without their result although nothing ended them.

        A dying host may end a call, and so may a newer message that interrupts.
        """
        died = any(event.kind == "tools" for event in self._course.select_events().values())
        if died or found.interrupts:
            return
        for step in found.journal.steps:
            if step.name.startswith(SERVER) and step.state == "failed":
                refused = found.scenario[_parse_script_name(step)].decision == "deny"
                if not refused:
                    yield Violation("tool result", f"{step.name} ended with {step.result}")

    def _run_life(self, number: int) -> bool:
        """Run one life; return whether it was the last one."""
        chance, loop, disk = (
            self._course.make_random(f"life {number}"),
            VirtualLoop(self._now, self._tasks),
            LossyDisk(),
        )
        machine = SimulatedMachine(self._settings, loop, self._world, chance)
        life = SimulatedLife(
            self._settings, loop, self._world, self._files, machine, disk, self._left
        )
        self._world.begin_life(lambda: not loop.killed, lambda: EPOCH + loop.time())
        failpoints.set_observer(life)
        store = Store(
            SqliteStorage(
                self._journal,
                lambda commits: VirtualWriter(commits, loop, chance),
                machine.in_thread,
            )
        )
        try:
            loop.run(life.run_daemon(store))
        except StuckError as error:
            self._problems.append(Violation("stuck", f"{error}, after {life.passed[-1]}"))
        finally:
            life.armed = False
            self._end_life(life, store)
        self._problems += [Violation("uncaught", repr(found)) for found in loop.problems]
        return life.end in ("settled", "late") or bool(self._problems)

    def _end_life(self, life: SimulatedLife, store: Store) -> None:
        """Leave the files that the next start finds, and note how the life ended."""
        disk, content = life.disk, self._read_disk(life)
        disk.full = disk.broken = False
        store.close()
        disk.unregister()
        self._now = life.loop.time() + DOWN
        self._boots += life.boots
        self._kills += life.worker_deaths
        self.trace += [*life.passed, life.end]
        if life.end == "late":
            left = evidence.read_journal(self._journal).describe_unsettled()
            self._problems.append(Violation("settled", left or "the last updates"))
        if content is None:
            return
        for path in self._home.glob("journal.db*"):
            path.unlink()
        for path, data in content.items():
            path.write_bytes(data)
        self._kills += 1
        self._deaths.append(recovery.inspect_death(self._journal, self._world.ledger.read_events()))

    def _read_disk(self, life: SimulatedLife) -> dict[Path, bytes] | None:
        """Return the journal's files after a kill or a power failure; None after another end."""
        paths = [path for name in recovery.FILES if (path := self._home / name).exists()]
        if life.end == "power":
            chance = self._course.make_random(f"disk {len(self._deaths)}")
            return {path: life.disk.get_file(path).lose_power(chance) for path in paths}
        if life.end in ("kill", "disk"):
            return {path: path.read_bytes() for path in paths}
        return None


def _parse_script_name(step: StepRow) -> str:
    """Return the name of the script that a call of the tool server belongs to."""
    return str(json.loads(step.args or "{}")["name"]).partition(".")[0]


@cache
def _make_empty_journal() -> bytes:
    """Return a new journal as a daemon makes it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / recovery.FILES[0]
        open_database(path).close()
        return path.read_bytes()
