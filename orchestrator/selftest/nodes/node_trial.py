"""Try one fault again and again while many people write, and check what they got."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.journal_address import DatabaseServer
from orchestrator.selftest import evidence, invariants
from orchestrator.selftest.evidence import Death, Evidence
from orchestrator.selftest.fake_telegram import PREVIEW_MARK
from orchestrator.selftest.invariants import Violation
from orchestrator.selftest.ledger import Ledger, LedgerEvent, confirmed
from orchestrator.selftest.nodes.cluster import DATABASE, FAULTS, Cluster, Takeover, clocks, cluster
from orchestrator.selftest.nodes.crowd import Crowd, talks
from orchestrator.selftest.nodes.node import WITHIN
from orchestrator.selftest.nodes.postgres_server import ServerPair, server_pair
from orchestrator.selftest.scenario import SERVER, config
from orchestrator.selftest.world import TOKEN

FIRST, GAP = 0.5, 4.0  # seconds of peace before the first fault, and between two
SETTLED_WITHIN = 300.0  # seconds after the last fault until all is done
LOOK = 0.5  # seconds between two looks at what is not done
ONE_HOME = ("starts (14)", "claims")  # checks of a daemon that nothing but its own deaths ends


@dataclass
class TrialResult:
    """What people got while a fault happened again and again.

    ``takeovers`` and ``answers`` are the seconds from each fault until a node worked, and until a
    person got an answer.
    """

    fault: str
    messages: int = 0
    unknown: int = 0
    seconds: float = 0.0
    takeovers: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def broken(self, *checks: str) -> int:
        """Count the violations of the checks whose names begin so."""
        return sum(found.check.startswith(checks) for found in self.violations)


@dataclass(frozen=True)
class NodeTrial:
    """Tries a fault with so many ``nodes`` and messages, in ``folder``.

    A frozen machine sleeps for ``pause`` seconds; ``environ`` is added to that of the daemons. A
    node that does not take over, or give up, is waited for so many seconds of ``patience``.
    """

    folder: Path
    nodes: int
    messages: int
    pause: float
    environ: Mapping[str, str] = field(default_factory=dict)
    patience: float = WITHIN

    async def run(self, fault: str, progress: Callable[[int], None]) -> TrialResult:
        """Try one fault; ``progress`` gets how many messages were written.

        Raises:
            ConfigError: PostgreSQL, or what the fault needs, is missing.
        """
        result, started = TrialResult(fault), time.monotonic()
        self.folder.mkdir(mode=0o700)
        ledger = Ledger(self.folder / "ledger.jsonl")
        crowd = Crowd(talks(self.messages), ledger)
        with server_pair() as servers:
            servers.first.query(f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'")
            async with crowd.bot, crowd.model:
                environs = [
                    self._environ(crowd, number) | clocks(fault, number)
                    for number in range(self.nodes)
                ]
                async with cluster(
                    self.folder, environs, servers, self.pause, self.patience
                ) as nodes:
                    deaths = await self._try(fault, nodes, crowd, servers, progress)
                    result.violations += nodes.violations
                    faults = list(nodes.takeovers)
                journal = self._journal(servers)
                rows = await to_thread.run_sync(lambda: evidence.read(journal, check=True))
        events = ledger.events()
        found = Evidence(
            crowd.scenario, rows, events, tuple(deaths), kills=len(faults), sleeps=True
        )
        result.violations += [
            broken for broken in invariants.check(found) if broken.check not in ONE_HOME
        ]
        result.messages, result.unknown = crowd.said, len(found.unknown())
        result.takeovers = [fault.seconds for fault in faults]
        result.answers = _answers(faults, events)
        result.seconds = time.monotonic() - started
        return result

    async def _try(
        self,
        fault: str,
        nodes: Cluster,
        crowd: Crowd,
        servers: ServerPair,
        progress: Callable[[int], None],
    ) -> list[Death]:
        """Let faults happen while people write; wait until all is done."""
        deaths: list[Death] = []
        written = anyio.Event()

        async def write() -> None:
            await crowd.write()
            written.set()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write)
                while not (written.is_set() and deaths):
                    with anyio.move_on_after(GAP if deaths else FIRST):
                        await written.wait()
                    await FAULTS[fault](nodes)
                    deaths.append(await to_thread.run_sync(self._look, crowd, servers))
                    progress(crowd.said)
            with anyio.fail_after(SETTLED_WITHIN):
                await self._settled(crowd, servers)
        except* TimeoutError:
            rest = evidence.read(self._journal(servers)).unsettled() or "no node took over"
            nodes.violations.append(Violation("settled", rest[:2000]))
        return deaths

    async def _settled(self, crowd: Crowd, servers: ServerPair) -> None:
        while True:  # the journal has no events to wait for
            if not crowd.bot.unconfirmed:  # what is confirmed later may be stored later
                journal = await to_thread.run_sync(evidence.read, self._journal(servers))
                if not journal.unsettled():
                    if crowd.all_sent:
                        return
                    crowd.send_rest()
            await anyio.sleep(LOOK)

    def _look(self, crowd: Crowd, servers: ServerPair) -> Death:
        before = confirmed(crowd.ledger.events())  # what is confirmed later may be stored later
        return Death(evidence.read(self._journal(servers)), before)

    def _journal(self, servers: ServerPair) -> DatabaseServer:
        return DatabaseServer(servers.url(DATABASE), self.folder / "journal.db")

    def _environ(self, crowd: Crowd, number: int) -> dict[str, str]:
        """Make the home of a node; return what its daemon needs of the outside."""
        home = self.folder / f"node-{number}"
        (home / "servers" / SERVER).mkdir(mode=0o700, parents=True)
        agents = config(crowd.scenario, crowd.model.url, crowd.ledger.path, crowd.talks.chats)
        (home / "agents.json").write_text(json.dumps(agents), "utf-8")
        return {
            "ORCHESTRATOR_FAST_TASKS": "1",
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_URL": crowd.bot.url,
            **self.environ,
        }


def _answers(faults: list[Takeover], events: tuple[LedgerEvent, ...]) -> list[float]:
    """Return the seconds from each fault until the first answer of a node that worked then."""
    shown = [e.at for e in events if e.kind == "shown" and not e.text.endswith(PREVIEW_MARK)]
    found: list[float] = []
    for fault in faults:
        works = fault.at + fault.seconds * 1000
        found += [(at - fault.at) / 1000 for at in shown if at >= works][:1]
    return found
