"""Run one history: kill and restart the daemon until all its work is done."""

import json
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.child_signals import signal_child
from orchestrator.extensions.selftest.crash import evidence, invariants, process_tree, recovery
from orchestrator.extensions.selftest.crash.daemon_process import (
    DaemonProcess,
    StartDaemon,
    execute_daemon,
)
from orchestrator.extensions.selftest.crash.evidence import Death, Evidence
from orchestrator.extensions.selftest.crash.histories import History, Kill, Life, format_history
from orchestrator.extensions.selftest.crash.home_mark import list_marked_processes
from orchestrator.extensions.selftest.crash.invariants import Violation
from orchestrator.extensions.selftest.crash.journals import FileJournals, Journals
from orchestrator.extensions.selftest.crash.scenario import Scenario, build_agents_file
from orchestrator.extensions.selftest.crash.world import TOKEN, World, open_world
from orchestrator.failpoints import SESSION, SUPERVISOR, WORKER
from orchestrator.journal_address import DatabaseServer, JournalAddress

# Seconds. An idle machine needs a tenth of them; a busy one must not cause violations.
SETTLED_WITHIN = 120.0  # a worker that was killed often is restarted late
STOPPED_WITHIN = 60.0  # from SIGTERM to the end
ORPHANS_WITHIN = 20.0  # until orphans have ended
SESSIONS_WITHIN = 20.0  # until the server has seen that a daemon is dead
ZOMBIES_WITHIN = 20.0  # until dead children are reaped
BOOTED = "boot:after#1"
READY = "ready#1"  # before it, SIGTERM may hit an interpreter without a handler
TURN_STARTED = "run_turn:before#"  # a worker that dies here has a turn
POLL = 0.1  # seconds between two reads of the journal


@dataclass(frozen=True)
class ReachedBoundary:
    """A boundary that a daemon reached, the number of living workers and the killed processes."""

    place: str
    workers: int
    killed: tuple[int, ...]


@dataclass
class Outcomes:
    """The outcome of one or several histories.

    ``verified`` counts the kills that happened at the right place, ``recoveries`` those before the
    daemon was ready again.
    """

    verified: int = 0
    unreached: list[str] = field(default_factory=list)
    strays: int = 0
    unknown: int = 0
    recoveries: int = 0
    seconds: float = 0.0
    reached: list[ReachedBoundary] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)


@dataclass(kw_only=True)
class Result(Outcomes):
    """The result of one history."""

    history: str
    home: Path


@dataclass(eq=False)
class Runner:
    """Runs one history in the directory ``home``, which must not exist.

    ``environ`` is added to the daemon's environment; each life has ``within`` seconds to settle.
    ``start`` starts the daemons; ``journals`` has their journals.
    """

    history: History
    scenario: Scenario
    home: Path
    environ: Mapping[str, str]
    within: float = SETTLED_WITHIN
    start: StartDaemon = execute_daemon
    journals: Journals = field(default_factory=FileJournals)
    _deaths: list[Death] = field(default_factory=list, init=False)
    _lives: int = field(default=0, init=False)
    _boots: int = field(default=0, init=False)
    _worker_deaths: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._result = Result(history=format_history(self.history), home=self.home)
        self._journal: JournalAddress = self.home / "journal.db"

    async def run(self) -> Result:
        started = time.monotonic()
        self.home.mkdir(mode=0o700)
        self._journal = await to_thread.run_sync(self.journals.make_journal, self.home)
        async with open_world(self.scenario, self.home) as world:
            agents = build_agents_file(self.scenario, world.model.url, world.ledger.path)
            (self.home / "agents.json").write_text(json.dumps(agents), "utf-8")
            async with anyio.create_task_group() as watchers:
                settled = False
                for life in self.history:
                    settled = await self._run_life(life, world, watchers)
                if not settled:
                    await self._run_life((), world, watchers)
            await self._check_orphans(list_marked_processes(self.home))
        self._check_evidence(world)
        self._result.seconds = time.monotonic() - started
        return self._result

    def _check_evidence(self, world: World) -> None:
        found = Evidence(
            scenario=self.scenario,
            journal=evidence.read_journal(self._journal, check=True),
            events=world.ledger.read_events(),
            deaths=tuple(self._deaths),
            kills=self._result.verified,
            boots=self._boots,
            worker_deaths=self._worker_deaths,
        )
        self._result.strays = sum(found.count_strays().values())
        self._result.unknown = len(found.list_unknown_steps())
        self._result.violations += invariants.check_evidence(found)

    async def _run_life(self, life: Life, world: World, watchers: anyio.abc.TaskGroup) -> bool:
        """Run one life of the daemon; return whether all work was done in it."""
        self._lives += 1
        async with self._start_daemon(life, world) as process:
            try:
                with anyio.fail_after(self.within):
                    settled = await self._wait_until_settled_or_dead(life, world, process)
            except TimeoutError:
                rest = (
                    evidence.read_journal(self._journal).describe_unsettled() or "the last updates"
                )
                self._add_violation("settled", f"life {self._lives} did not finish: {rest}")
                signal_child(process, signal.SIGKILL)
                return False
            # The work may be done just before a kill at its last boundary.
            settled = settled and await self._stop_daemon(process)
            if not settled:
                watchers.start_soon(self._check_orphans, list_marked_processes(self.home))
            self._verify_kills(life, process.returncode)
            if not settled:
                await self._check_sessions()
                self._deaths.append(
                    recovery.inspect_death(self._journal, world.ledger.read_events())
                )
        return settled

    @asynccontextmanager
    async def _start_daemon(self, life: Life, world: World) -> AsyncIterator[DaemonProcess]:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "ORCHESTRATOR_HOME": str(self.home),
            "ORCHESTRATOR_DEBUG": "1",
            "ORCHESTRATOR_FAST_TASKS": "1",  # several instants pass while the daemon is down
            "ORCHESTRATOR_CRASH_AT": ",".join(str(kill) for kill in life if kill.place),
            "ORCHESTRATOR_CRASH_LOG": str(self._build_life_path("boundaries")),
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_URL": world.bot.url,
            **_build_store_environ(self._journal),
            **self.environ,
        }
        process = await self.start(environ, self.home, self._build_life_path("log"))
        try:
            yield process
        finally:
            with anyio.CancelScope(shield=True):
                signal_child(process, signal.SIGKILL)
                await process.wait()

    async def _wait_until_settled_or_dead(
        self, life: Life, world: World, process: DaemonProcess
    ) -> bool:
        """Return True when all work is done, False when the daemon has ended."""
        settled = False

        async def wait_until_settled() -> None:
            nonlocal settled
            await self._wait_until_settled(world)
            settled = True
            tasks.cancel_scope.cancel()

        async def wait_until_dead() -> None:
            await process.wait()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_until_settled)
            tasks.start_soon(wait_until_dead)
            for kill in life:
                if not kill.place:
                    tasks.start_soon(self._kill_later, kill, process)
        return settled

    async def _wait_until_settled(self, world: World) -> None:
        while True:  # the journal has no events to wait for
            ready = not world.bot.unconfirmed_updates and self._has_reached(READY)
            if ready and not evidence.read_journal(self._journal).describe_unsettled():
                if world.has_sent_all:
                    return
                world.send_rest()
            await anyio.sleep(POLL)

    async def _kill_later(self, kill: Kill, process: DaemonProcess) -> None:
        await anyio.sleep(kill.ms / 1000)
        if kill.victim == SUPERVISOR:
            signal_child(process, signal.SIGKILL)
            return
        if kill.victim == SESSION:
            ended = await to_thread.run_sync(self.journals.end_sessions, self.home)
            self._result.verified += bool(ended)
            return
        below = process_tree.list_descendants(process.pid)
        if below:
            with suppress(ProcessLookupError):
                os.kill(random.Random(kill.ms).choice(below), signal.SIGKILL)  # noqa: S311 - a victim
                self._result.verified += 1

    async def _stop_daemon(self, process: DaemonProcess) -> bool:
        """Stop the daemon; return False for an end that `_verify_kills` has to judge."""
        zombies = await process_tree.list_zombies(process.pid, ZOMBIES_WITHIN)
        if zombies:
            self._add_violation("zombies", f"children {zombies} were not reaped")
        signal_child(process, signal.SIGTERM)
        try:
            with anyio.fail_after(STOPPED_WITHIN):
                code = await process.wait()
        except TimeoutError:
            self._add_violation(
                "stop", f"life {self._lives} did not end {STOPPED_WITHIN} s after TERM"
            )
            return True
        return code == 0

    def _verify_kills(self, life: Life, code: int | None) -> None:
        """Verify the kills by the log of boundaries and the exit status."""
        reached = read_boundaries(self._build_life_path("boundaries"))
        self._result.reached += reached
        self._boots += any(item.place == BOOTED for item in reached)
        killed = {item.place: item.killed for item in reached if item.killed}
        at_random = any(kill.victim == SUPERVISOR and not kill.place for kill in life)
        died = code == -signal.SIGKILL
        expected = at_random or any(
            kill.victim == SUPERVISOR and kill.place in killed for kill in life
        )
        if died:
            self._result.verified += 1
            self._result.recoveries += bool(self._deaths) and not self._has_reached(READY)
        if code and not (died and expected):
            self._add_violation(
                "death", f"life {self._lives} ended with {code}; see {self._build_life_path('log')}"
            )
        for kill in life:
            if not kill.place or (kill.victim == SUPERVISOR and died and kill.place in killed):
                continue
            if kill.victim != SUPERVISOR and kill.place in killed:
                self._result.verified += 1
                turn_died = kill.victim == WORKER and kill.place.startswith(TURN_STARTED)
                self._worker_deaths += not died and turn_died
            else:
                self._result.unreached.append(str(kill))

    async def _check_orphans(self, pids: list[int]) -> None:
        left = await process_tree.list_survivors(pids, ORPHANS_WITHIN)
        if left:
            self._add_violation("orphans", f"processes {left} outlived their supervisor")

    async def _check_sessions(self) -> None:
        """Wait until a dead daemon can change nothing any more."""
        left = await process_tree.poll_until_empty(
            lambda: self.journals.list_sessions(self.home), SESSIONS_WITHIN
        )
        if left:
            self._add_violation("sessions", f"sessions {left} outlived their daemon")

    def _has_reached(self, place: str) -> bool:
        return any(
            item.place == place for item in read_boundaries(self._build_life_path("boundaries"))
        )

    def _build_life_path(self, name: str) -> Path:
        return self.home / f"{name}-{self._lives}"

    def _add_violation(self, check: str, sentence: str) -> None:
        self._result.violations.append(Violation(check, sentence))


def _build_store_environ(journal: JournalAddress) -> dict[str, str]:
    """Return the variable that gives a daemon its journal in a database."""
    return {"ORCHESTRATOR_STORE": journal.url} if isinstance(journal, DatabaseServer) else {}


def read_boundaries(path: Path) -> list[ReachedBoundary]:
    if not path.exists():
        return []
    lines = (line.split() for line in path.read_text("utf-8").splitlines())
    return [ReachedBoundary(place, int(n), tuple(map(int, killed))) for place, n, *killed in lines]
