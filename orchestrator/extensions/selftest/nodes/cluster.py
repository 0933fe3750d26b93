"""Several nodes on one journal, their faults, and how soon they recover."""

import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.selftest.crash.invariants import Violation
from orchestrator.extensions.selftest.nodes.blocking_proxy import BlockingProxy
from orchestrator.extensions.selftest.nodes.node import (
    GROUPS_LOST,
    READY,
    STANDS_BY,
    TAKEN,
    WITHIN,
    TriedNode,
    wait_until,
)
from orchestrator.extensions.selftest.nodes.postgres_server import ServerPair
from orchestrator.testing.loopback import find_free_port

DATABASE = "nodes"  # the journal's
HOUR = 3600  # seconds that the clock of a node is wrong
BLOCKED = 10.0  # seconds without a network
DRAINED_WITHIN = 180.0  # seconds until the last turn of a node has ended
LOOK = 0.05  # seconds between two looks at the groups of agents
TWO_POLLERS = "two pollers"
# What a node logs that has met another one, by the check that finds it.
LOGGED = (
    ("guard", b"without its lock", "a node wrote for agents of another one"),
    (
        TWO_POLLERS,
        b"another program asks for the messages",
        "two nodes polled a bot",
    ),
)
FAKE_CLOCK = "/usr/lib/*/faketime/libfaketime.so.1"


@dataclass(frozen=True)
class Takeover:
    """A fault at ``at`` (milliseconds since the epoch), and the ``seconds`` until a node works."""

    at: int
    seconds: float


@dataclass
class Cluster:
    """The nodes; ``works`` has the journal. A frozen machine sleeps for ``pause`` seconds.

    Another node takes over, and one that lost the journal stands by, in ``patience`` seconds. With
    ``all_work`` each works for agents of its own, and others take over those of ``works``.
    """

    nodes: list[TriedNode]
    servers: ServerPair
    pause: float
    patience: float = WITHIN
    all_work: bool = False
    takeovers: list[Takeover] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.works = self.nodes[0]

    async def kill_node(self) -> None:
        """Kill the working daemon without warning."""
        node = self.works
        began = read_clock()
        node.send_signal(signal.SIGKILL)
        await self._wait_for_takeover(node, began)
        await node.wait_for_exit()
        await node.start()

    async def freeze_node(self) -> None:
        """Suspend the working machine, and resume it once another one works."""
        node = self.works
        began, wakes = read_clock(), anyio.current_time() + self.pause
        node.send_signal(signal.SIGSTOP, all_of_it=True)
        await self._wait_for_takeover(node, began)
        await anyio.sleep_until(wakes)
        node.send_signal(signal.SIGCONT, all_of_it=True)
        await self._check_standby(node)

    async def block_network(self) -> None:
        """Lose all packets between the working node and the servers."""
        node = self.works
        began, ends = read_clock(), anyio.current_time() + BLOCKED
        for proxy in node.network:
            proxy.block()
        await self._wait_for_takeover(node, began)
        await anyio.sleep_until(ends)
        for proxy in node.network:
            proxy.unblock()
        await self._check_standby(node)

    async def end_session(self) -> None:
        """End the working daemon's session, so that a daemon that stands by gets the journal."""
        node, began = self.works, read_clock()
        if self.all_work:
            await to_thread.run_sync(self.servers.end_node_session, DATABASE, node.url)
            await self.wait_until_placed(began)
            await self._check_standby(node)
            return
        await to_thread.run_sync(self.servers.end_holder_session)
        await self._wait_for_takeover(node, began)
        await self._check_standby(node)

    async def restart_server(self) -> None:
        """Crash the server, and start it again."""
        await self._apply_server_fault(self.servers.restart)

    async def fail_over_server(self) -> None:
        """Crash the server and promote its standby; then make a new standby."""
        await self._apply_server_fault(self.servers.fail_over)
        await to_thread.run_sync(self.servers.repair)

    async def upgrade_node(self) -> None:
        """Stop the working daemon as for an upgrade of its machine, and start it again."""
        node = self.works
        began = read_clock()
        node.send_signal(signal.SIGTERM)
        await self._wait_for_takeover(node, began)
        code = await node.wait_for_exit()
        if code != ExitCode.OK:
            self.add_violation(
                "stop", f"a node that was stopped ended with {code}; see {node.log_path}"
            )
        await node.start()

    async def drain_node(self) -> None:
        """Let the working daemon give all its agents away, and take some again."""
        node, began = self.works, read_clock()
        await node.run_command("nodes", "drain", node.url)
        await self.wait_until_placed(began, node.url, DRAINED_WITHIN)
        await node.run_command("nodes", "drain", node.url, "--end")

    async def join_node(self) -> None:
        """Stop the working daemon, start it again, and wait until it works for some agents."""
        await self.upgrade_node()
        await self.wait_for_groups()

    async def retake_groups(self) -> None:
        """Suspend the working machine, and resume it once those have ended that took over."""
        node, began = self.works, read_clock()
        others = [other for other in self.nodes if other is not node]
        node.send_signal(signal.SIGSTOP, all_of_it=True)
        await self._wait_for_takeover(node, began)
        for other in others:
            await other.end_daemon()
        node.send_signal(signal.SIGCONT, all_of_it=True)
        try:
            await wait_until(lambda: node.count_events(GROUPS_LOST) > 0, self.patience)
        except TimeoutError:
            self.add_violation("fence", f"a node goes on with what is old; see {node.log_path}")
        for other in others:
            await other.start()
        await self._check_standby(node)

    async def spread_groups(self) -> None:
        """Restart the first node, which has taken everything, so that the others work as well."""
        first, members = self.nodes[0], partial(self.servers.count_members, DATABASE)
        with anyio.fail_after(WITHIN):
            while await to_thread.run_sync(members) < len(self.nodes):  # noqa: ASYNC110 - no events
                await anyio.sleep(LOOK)
        first.send_signal(signal.SIGTERM)
        await self._wait_for_takeover(first, read_clock())
        await first.wait_for_exit()
        await first.start()
        self.takeovers.clear()

    async def _apply_server_fault(self, fault: Callable[[], None]) -> None:
        before, node, began = self.works.count_events(TAKEN), self.works, read_clock()
        await to_thread.run_sync(fault)
        if self.all_work:
            await self.wait_until_placed(began)
            for other in self.nodes:
                await self._check_standby(other)
            return
        others = [other for other in self.nodes if other is not node]
        await wait_until(lambda: node.count_events(TAKEN) > before or _has_ready_node(others))
        if node.count_events(TAKEN) > before:
            self.takeovers.append(Takeover(began, (read_clock() - began) / 1000))
        else:
            await self._wait_for_takeover(node, began)
            await self._check_standby(node)

    async def _wait_for_takeover(self, node: TriedNode, began: int) -> None:
        """Wait until another node works.

        Raises:
            TimeoutError: no other node works in time.
        """
        others = [other for other in self.nodes if other is not node]
        if self.all_work:
            await self.wait_until_placed(began, node.url)
            return
        await wait_until(lambda: _has_ready_node(others), self.patience)
        self.takeovers.append(Takeover(began, (read_clock() - began) / 1000))
        (self.works, *more) = (other for other in others if other.state == READY)
        for other in more:
            self.add_violation(
                "one at a time", f"two nodes work; see {self.works.log_path} and {other.log_path}"
            )

    async def wait_for_groups(self) -> None:
        """Wait until others have given agents to the working daemon, which had none."""
        began = read_clock()
        groups = partial(self.servers.count_groups, DATABASE, self.works.url)
        with anyio.fail_after(self.patience + WITHIN):
            while not await to_thread.run_sync(groups):  # noqa: ASYNC110 - it has no events
                await anyio.sleep(LOOK)
        self.takeovers.append(Takeover(began, (read_clock() - began) / 1000))

    async def wait_until_placed(self, began: int, without: str = "-", within: float = 0.0) -> None:
        """Wait until nodes have all groups of agents, other nodes than the one at ``without``."""
        placed = partial(self.servers.has_taken_over, DATABASE, without)
        with anyio.fail_after(within or self.patience):
            while not await to_thread.run_sync(placed):  # noqa: ASYNC110 - it has no events
                await anyio.sleep(LOOK)
        self.takeovers.append(Takeover(began, (read_clock() - began) / 1000))

    async def _check_standby(self, node: TriedNode) -> None:
        """Check that a node that lost the journal stands by, or begins anew."""
        expected = READY if self.all_work else STANDS_BY
        try:
            await wait_until(lambda: node.state == expected, self.patience)
        except TimeoutError:
            self.add_violation(
                "fence", f"a node that lost the journal goes on; see {node.log_path}"
            )
            await node.end_daemon()
            await node.start()

    async def choose_node(self, agents: Iterable[str]) -> frozenset[str]:
        """Choose the node that the next fault befalls; return its agents out of these.

        Where all work it is the one with most groups of agents.
        """
        if not self.all_work:
            return frozenset(agents)
        counts = [
            await to_thread.run_sync(self.servers.count_groups, DATABASE, node.url)
            for node in self.nodes
        ]
        self.works = self.nodes[counts.index(max(counts))]
        find = self.servers.list_agents
        return frozenset(await to_thread.run_sync(find, DATABASE, self.works.url, agents))

    def list_logged_violations(self) -> list[Violation]:
        """Return what the nodes have logged because two of them did what one has to do.

        One that loses the journal to one that stood by finds that out from its last poll.
        """
        return [
            Violation(check, f"{sentence}; see {log}")
            for node in self.nodes
            for log in node.home.glob("log-*")
            for check, mark, sentence in LOGGED
            if mark in log.read_bytes() and (self.all_work or check != TWO_POLLERS)
        ]

    def add_violation(self, check: str, sentence: str) -> None:
        """Note what the nodes did that they must not."""
        self.violations.append(Violation(check, sentence))


def build_clock_environ(fault: str, number: int) -> dict[str, str]:
    """Return the variables for a node whose clock is wrong, if the fault is of that kind.

    Raises:
        ConfigError: the library that changes clocks is missing.
    """
    if fault != "clocks":
        return {}
    found = sorted(Path("/").glob(FAKE_CLOCK.removeprefix("/")))
    if not found:
        raise ConfigError("the fault 'clocks' needs libfaketime; install it, or choose --history")
    wrong = (HOUR, -HOUR, 0)[number % 3]
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME": f"{wrong:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


@asynccontextmanager
async def start_cluster(
    folder: Path,
    environs: list[dict[str, str]],
    servers: ServerPair,
    pause: float,
    patience: float = WITHIN,
    *,
    all_work: bool = False,
) -> AsyncIterator[Cluster]:
    """Start nodes with these environments, each with a home and a network of its own."""
    async with AsyncExitStack() as stack:
        nodes = list[TriedNode]()
        for number, environ in enumerate(environs):
            home = folder / f"node-{number}"
            ports = servers.first.port, servers.second.port
            network = tuple([await stack.enter_async_context(BlockingProxy(p)) for p in ports])
            url = servers.build_url(DATABASE, [proxy.port for proxy in network])
            own = {"HOME": str(home), "ORCHESTRATOR_HOME": str(home), "ORCHESTRATOR_STORE": url}
            if all_work:
                own["ORCHESTRATOR_API_PORT"] = str(find_free_port())
                own["ORCHESTRATOR_NODE_URL"] = f"http://127.0.0.1:{own['ORCHESTRATOR_API_PORT']}"
            node = TriedNode(home, {"PATH": os.environ["PATH"], **environ, **own}, network)
            stack.push_async_callback(node.end_daemon)
            await node.start()
            nodes.append(node)
            if all_work and number == 0:  # it has made the schema
                guard = (Path(__file__).parent / "guard.sql").read_text("utf-8")
                await to_thread.run_sync(servers.first.query_database, DATABASE, guard)
        cluster = Cluster(nodes, servers, pause, patience, all_work)
        if all_work:
            await cluster.spread_groups()
        yield cluster


def _has_ready_node(nodes: list[TriedNode]) -> bool:
    return any(node.state == READY for node in nodes)


def read_clock() -> int:
    """Return milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
