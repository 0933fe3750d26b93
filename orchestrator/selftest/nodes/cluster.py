"""Several nodes on one journal, with what befalls them and how soon they go on."""

import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.errors import ConfigError, ExitCode
from orchestrator.selftest.invariants import Violation
from orchestrator.selftest.nodes.blocking_proxy import BlockingProxy
from orchestrator.selftest.nodes.node import READY, STANDS_BY, TAKEN, WITHIN, Node, until
from orchestrator.selftest.nodes.postgres_server import ServerPair

DATABASE = "nodes"  # the journal's
HOUR = 3600  # seconds that the clock of a node is wrong
BLOCKED = 10.0  # seconds without a network
FAKE_CLOCK = "/usr/lib/*/faketime/libfaketime.so.1"


@dataclass(frozen=True)
class Takeover:
    """A fault at ``at``, in milliseconds since the epoch, after which one works in ``seconds``."""

    at: int
    seconds: float


@dataclass
class Cluster:
    """The nodes; ``works`` has the journal. A frozen machine sleeps for ``pause`` seconds.

    Another node takes over, and one that lost the journal stands by, in ``patience`` seconds.
    """

    nodes: list[Node]
    servers: ServerPair
    pause: float
    patience: float = WITHIN
    takeovers: list[Takeover] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.works = self.nodes[0]

    async def kill(self) -> None:
        """Kill the daemon that works, without any sign."""
        node = self.works
        began = _now()
        node.send(signal.SIGKILL)
        await self._taken_over(node, began)
        await node.ended()
        await node.start()

    async def freeze(self) -> None:
        """Let the machine sleep that works, and wake when another one works."""
        node = self.works
        began, wakes = _now(), anyio.current_time() + self.pause
        node.send(signal.SIGSTOP, all_of_it=True)
        await self._taken_over(node, began)
        await anyio.sleep_until(wakes)
        node.send(signal.SIGCONT, all_of_it=True)
        await self._gives_up(node)

    async def block(self) -> None:
        """Lose all packets between the node that works and the servers."""
        node = self.works
        began, ends = _now(), anyio.current_time() + BLOCKED
        for proxy in node.network:
            proxy.block()
        await self._taken_over(node, began)
        await anyio.sleep_until(ends)
        for proxy in node.network:
            proxy.unblock()
        await self._gives_up(node)

    async def end_session(self) -> None:
        """End the session of the daemon that works, so that one that stands by gets the journal."""
        node, began = self.works, _now()
        await to_thread.run_sync(self.servers.end_holder)
        await self._taken_over(node, began)
        await self._gives_up(node)

    async def restart(self) -> None:
        """Let the server crash, and start it again."""
        await self._without_server(self.servers.restart)

    async def fail_over(self) -> None:
        """Let the server crash, and its standby take its place; afterwards there is a new one."""
        await self._without_server(self.servers.fail_over)
        await to_thread.run_sync(self.servers.repair)

    async def roll(self) -> None:
        """Stop the daemon that works as for an upgrade of its machine, and start it again."""
        node = self.works
        began = _now()
        node.send(signal.SIGTERM)
        await self._taken_over(node, began)
        code = await node.ended()
        if code != ExitCode.OK:
            self._report("stop", f"a node that was stopped ended with {code}; see {node.log}")
        await node.start()

    async def _without_server(self, fault: Callable[[], None]) -> None:
        before, node, began = self.works.count(TAKEN), self.works, _now()
        await to_thread.run_sync(fault)
        others = [other for other in self.nodes if other is not node]
        await until(lambda: node.count(TAKEN) > before or _any_ready(others))
        if node.count(TAKEN) > before:
            self.takeovers.append(Takeover(began, (_now() - began) / 1000))
        else:
            await self._taken_over(node, began)
            await self._gives_up(node)

    async def _taken_over(self, node: Node, began: int) -> None:
        """Wait until another node works.

        Raises:
            TimeoutError: none does.
        """
        others = [other for other in self.nodes if other is not node]
        await until(lambda: _any_ready(others), self.patience)
        self.takeovers.append(Takeover(began, (_now() - began) / 1000))
        (self.works, *more) = (other for other in others if other.state == READY)
        for other in more:
            self._report("one at a time", f"two nodes work; see {self.works.log} and {other.log}")

    async def _gives_up(self, node: Node) -> None:
        """See that a node that lost the journal stands by."""
        try:
            await until(lambda: node.state == STANDS_BY, self.patience)
        except TimeoutError:
            self._report("fence", f"a node that lost the journal goes on; see {node.log}")
            await node.end()
            await node.start()

    def _report(self, check: str, sentence: str) -> None:
        self.violations.append(Violation(check, sentence))


Fault = Callable[[Cluster], Awaitable[None]]
FAULTS: Mapping[str, Fault] = {
    "kill": Cluster.kill,
    "freeze": Cluster.freeze,
    "block": Cluster.block,
    "session": Cluster.end_session,
    "restart": Cluster.restart,
    "failover": Cluster.fail_over,
    "clocks": Cluster.kill,
    "upgrade": Cluster.roll,
}


def clocks(fault: str, number: int) -> dict[str, str]:
    """Return the variables of a node whose clock is wrong, if that belongs to the fault.

    Raises:
        ConfigError: what changes clocks is missing.
    """
    if fault != "clocks":
        return {}
    found = sorted(Path("/").glob(FAKE_CLOCK.removeprefix("/")))
    if not found:
        raise ConfigError("the fault 'clocks' needs libfaketime; install it, or choose --fault")
    wrong = (HOUR, -HOUR, 0)[number % 3]
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME": f"{wrong:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


@asynccontextmanager
async def cluster(
    folder: Path,
    environs: list[dict[str, str]],
    servers: ServerPair,
    pause: float,
    patience: float = WITHIN,
) -> AsyncIterator[Cluster]:
    """Start nodes with these environments, each with a home and a network of its own."""
    async with AsyncExitStack() as stack:
        nodes = list[Node]()
        for number, environ in enumerate(environs):
            home = folder / f"node-{number}"
            ports = servers.first.port, servers.second.port
            network = tuple([await stack.enter_async_context(BlockingProxy(p)) for p in ports])
            url = servers.url(DATABASE, [proxy.port for proxy in network])
            own = {"HOME": str(home), "ORCHESTRATOR_HOME": str(home), "ORCHESTRATOR_STORE": url}
            node = Node(home, {"PATH": os.environ["PATH"], **environ, **own}, network)
            stack.push_async_callback(node.end)
            await node.start()
            nodes.append(node)
        yield Cluster(nodes, servers, pause, patience)


def _any_ready(nodes: list[Node]) -> bool:
    return any(node.state == READY for node in nodes)


def _now() -> int:
    return time.time_ns() // 1_000_000
