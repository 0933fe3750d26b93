"""Cause one fault again and again while many people write, and check their answers."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.extensions.selftest.crash import evidence, invariants
from orchestrator.extensions.selftest.crash.evidence import Death, Evidence
from orchestrator.extensions.selftest.crash.fake_telegram import PREVIEW_MARK
from orchestrator.extensions.selftest.crash.invariants import Violation
from orchestrator.extensions.selftest.crash.ledger import Ledger, LedgerEvent, find_confirmed_offset
from orchestrator.extensions.selftest.crash.scenario import (
    SERVER,
    build_agents_file,
    build_prompts,
)
from orchestrator.extensions.selftest.crash.world import TOKEN
from orchestrator.extensions.selftest.nodes.chat_load import ChatLoad, Waits, make_talks
from orchestrator.extensions.selftest.nodes.cluster import (
    DATABASE,
    Cluster,
    Takeover,
    build_clock_environ,
    start_cluster,
)
from orchestrator.extensions.selftest.nodes.node import WITHIN
from orchestrator.extensions.selftest.nodes.node_faults import ALL_WORK, FAULTS
from orchestrator.extensions.selftest.nodes.postgres_server import ServerPair, run_server_pair
from orchestrator.journal_address import DatabaseServer

FIRST, GAP = 0.5, 4.0  # seconds without a fault before the first one, and between two
SETTLED_WITHIN = 300.0  # seconds after the last fault until all is done
LOOK = 0.5  # seconds between two checks for unfinished work
PAUSED = "I am paused"
ONE_HOME = ("starts (14)", "claims")  # checks for a daemon that only its own deaths end


@dataclass
class TrialResult:
    """The answers that people got while a fault happened again and again.

    ``takeovers`` and ``answers`` are the seconds from each fault until a node worked, and until a
    person got an answer. ``shares`` has the number of answers of each node, ``waits`` the seconds
    in which people got theirs.
    """

    fault: str
    messages: int = 0
    unknown: int = 0
    seconds: float = 0.0
    takeovers: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    shares: list[int] = field(default_factory=list)
    waits: Waits = field(default_factory=Waits)

    def count_violations(self, *checks: str) -> int:
        """Count the violations of the checks whose names begin with ``check``."""
        return sum(found.check.startswith(checks) for found in self.violations)


@dataclass(frozen=True)
class NodeTrial:
    """Tries a fault with this number of ``nodes`` and messages, in ``folder``.

    A frozen machine sleeps for ``pause`` seconds; ``environ`` is added to the daemons' environment.
    ``patience`` is in seconds, for a node to take over or give up.
    """

    folder: Path
    nodes: int
    messages: int
    pause: float
    environ: Mapping[str, str] = field(default_factory=dict)
    patience: float = WITHIN

    async def run(self, fault: str, progress: Callable[[int], None]) -> TrialResult:
        """Try one fault of `FAULTS`; ``progress`` gets the number of written messages.

        Raises:
            ConfigError: PostgreSQL, or what the fault needs, is missing.
        """
        result, started = TrialResult(fault), time.monotonic()
        self.folder.mkdir(mode=0o700)
        ledger = Ledger(self.folder / "ledger.jsonl")
        crowd = ChatLoad(make_talks(self.messages), ledger)
        with run_server_pair() as servers:
            servers.first.query(f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'")
            async with crowd.bot, crowd.model:
                environs = [
                    self._prepare_node(crowd, number) | build_clock_environ(fault, number)
                    for number in range(self.nodes)
                ]
                async with start_cluster(
                    self.folder,
                    environs,
                    servers,
                    self.pause,
                    self.patience,
                    all_work=fault.startswith(ALL_WORK),
                ) as nodes:
                    deaths = await self._try_fault(fault, nodes, crowd, servers, progress)
                    result.violations += [*nodes.violations, *nodes.list_logged_violations()]
                    result.shares = [node.count_answers() for node in nodes.nodes]
                    faults = list(nodes.takeovers)
                journal = self._build_journal_address(servers)
                rows = await to_thread.run_sync(lambda: evidence.read_journal(journal, check=True))
        events = ledger.read_events()
        found = Evidence(
            crowd.scenario, rows, events, tuple(deaths), kills=len(faults), sleeps=True
        )
        result.violations += [
            broken for broken in invariants.check_evidence(found) if broken.check not in ONE_HOME
        ]
        result.violations += [
            Violation("lost", f"{row.text}: was given up")
            for row in rows.inbox
            if row.state == "dead"
        ]
        result.violations += _check_notices(found)
        result.messages, result.unknown = crowd.message_count, len(found.list_unknown_steps())
        result.takeovers = [fault.seconds for fault in faults]
        result.answers = _measure_answers(faults, events)
        result.waits = crowd.measure_waits(events)
        result.seconds = time.monotonic() - started
        return result

    async def _try_fault(
        self,
        fault: str,
        nodes: Cluster,
        crowd: ChatLoad,
        servers: ServerPair,
        progress: Callable[[int], None],
    ) -> list[Death]:
        """Let faults happen while people write; wait until all is done."""
        deaths: list[Death] = []
        written = anyio.Event()

        async def write_messages() -> None:
            await crowd.write_messages()
            written.set()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write_messages)
                while not (written.is_set() and deaths):
                    with anyio.move_on_after(GAP if deaths else FIRST):
                        await written.wait()
                    struck = await nodes.choose_node(crowd.talks.agents_by_chat.values())
                    began = time.time_ns() // 1_000_000
                    await FAULTS[fault](nodes)
                    crowd.note_fault(began, time.time_ns() // 1_000_000, struck)
                    deaths.append(await to_thread.run_sync(self._inspect_death, crowd, servers))
                    progress(crowd.message_count)
            with anyio.fail_after(SETTLED_WITHIN):
                await self._wait_until_settled(crowd, servers)
        except* TimeoutError:
            rest = (
                evidence.read_journal(self._build_journal_address(servers)).describe_unsettled()
                or "no node took over"
            )
            nodes.violations.append(Violation("settled", rest[:2000]))
        return deaths

    async def _wait_until_settled(self, crowd: ChatLoad, servers: ServerPair) -> None:
        while True:  # the journal has no events to wait for
            if not crowd.bot.unconfirmed_updates:  # what is confirmed later may be stored later
                journal = await to_thread.run_sync(
                    evidence.read_journal, self._build_journal_address(servers)
                )
                if not journal.describe_unsettled():
                    if crowd.has_sent_all:
                        return
                    crowd.send_rest()
            await anyio.sleep(LOOK)

    def _inspect_death(self, crowd: ChatLoad, servers: ServerPair) -> Death:
        before = find_confirmed_offset(
            crowd.ledger.read_events()
        )  # what is confirmed later may be stored later
        return Death(evidence.read_journal(self._build_journal_address(servers)), before)

    def _build_journal_address(self, servers: ServerPair) -> DatabaseServer:
        return DatabaseServer(servers.build_url(DATABASE), self.folder / "journal.db")

    def _prepare_node(self, crowd: ChatLoad, number: int) -> dict[str, str]:
        """Make the home of a node; return the environment that its daemon needs."""
        home = self.folder / f"node-{number}"
        (home / "servers" / SERVER).mkdir(mode=0o700, parents=True)
        agents = build_agents_file(
            crowd.scenario, crowd.model.url, crowd.ledger.path, crowd.talks.agents_by_chat
        )
        servers = agents["mcpServers"]
        for server in servers.values() if isinstance(servers, dict) else ():
            if isinstance(server, dict):  # the nodes share the ledger, outside of their homes
                server["sandbox"] = {"read": ["/"], "write": [str(crowd.ledger.path)]}
        (home / "agents.json").write_text(json.dumps(agents), "utf-8")
        (home / "prompts").mkdir(mode=0o700)
        for name, prompt in build_prompts(crowd.scenario).items():
            (home / "prompts" / f"{name}.json").write_text(json.dumps(prompt), "utf-8")
        return {
            "ORCHESTRATOR_FAST_TASKS": "1",
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_URL": crowd.bot.url,
            **self.environ,
        }


def _check_notices(found: Evidence) -> Iterator[Violation]:
    """Check that no notice of a pause was shown more often than it was queued."""
    queued = Counter(row.chat_id for row in found.journal.outbox if row.body.startswith(PAUSED))
    for chat, texts in found.visible_texts.items():
        shown = sum(text.startswith(PAUSED) for text in texts.values())
        if shown > queued[str(chat)]:
            yield Violation("duplicate (12)", f"chat {chat} was told {shown} times of a pause")


def _measure_answers(faults: list[Takeover], events: tuple[LedgerEvent, ...]) -> list[float]:
    """Return the seconds from each fault until the first answer of a node that worked then."""
    shown = [e.at for e in events if e.kind == "shown" and not e.text.endswith(PREVIEW_MARK)]
    found: list[float] = []
    for fault in faults:
        works = fault.at + fault.seconds * 1000
        found += [(at - fault.at) / 1000 for at in shown if at >= works][:1]
    return found
