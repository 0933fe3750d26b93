"""One course of several nodes, made from a seed: kills, absences, drains, and what is to hold."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import anyio
from anyio.abc import TaskGroup

from orchestrator.extensions.postgresql.group_locks import find_group
from orchestrator.extensions.postgresql.nodes import sharing_state
from orchestrator.extensions.selftest.lives.lock_server import LockServer
from orchestrator.extensions.selftest.lives.modelled_session import GONE, ModelledSession
from orchestrator.extensions.selftest.lives.sharing_node import AGENTS, SharingNode
from orchestrator.extensions.selftest.simulator.virtual_loop import StuckError, VirtualLoop
from orchestrator.journal.db.database import AbortedError, Database
from orchestrator.placement import Node

NODES = 3
FAULTS_UNTIL = 45.0  # seconds
SETTLED_AFTER, MOVED_WITHIN = 12.0, 10.0  # seconds of the end without faults
KINDS = ("kill", "kill", "stop", "away", "away", "session", "drain")
LONGEST_ABSENCE = 8.0  # seconds; the server waits for three
COMMITS = 10  # times as much happens at a commit as at another statement
DENIED = "the server has undone the transaction"
PROGRESS = "SELECT agent, steps FROM progress"


@dataclass(frozen=True)
class NodeEvent:
    """What happens to a node at a time; it takes ``seconds``."""

    at: float
    kind: str
    node: int
    seconds: float


class SharingCourse:
    """A course; ``problems`` are what must not be, ``trace`` says what happened."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)  # noqa: S311 - no secret
        draw = self._chance
        self._events = sorted(
            (
                NodeEvent(
                    draw.uniform(1, FAULTS_UNTIL - LONGEST_ABSENCE),
                    draw.choice(KINDS),
                    draw.randrange(NODES),
                    draw.uniform(0.1, LONGEST_ABSENCE),
                )
                for _ in range(draw.randrange(1, 9))
            ),
            key=lambda event: event.at,
        )
        self._rate = draw.choice((0.0, 0.0005, 0.003))  # of statements at which something happens
        self._loop = VirtualLoop(0.0, itertools.count())
        self._server = LockServer(self._loop.time)
        self._nodes: dict[int, SharingNode] = {}
        self.trace: list[str] = []

    @property
    def problems(self) -> list[str]:
        """What no course may show."""
        return self._server.problems

    def run(self) -> list[str]:
        """Run the course; return its problems."""
        rows = [(agent.agent_id,) for agent in AGENTS.agents]
        self._server.db.executemany("INSERT INTO progress VALUES(?, 0)", rows)
        try:
            self._loop.run(self._play())
        except StuckError as error:
            self.problems.append(f"stuck: {error}")
        self.problems.extend(f"uncaught: {found!r}" for found in self._loop.problems)
        return self.problems

    async def _play(self) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(NODES):
                await self._begin_life(tasks, number, 0.0)
            for event in self._events:
                await anyio.sleep(max(0.0, event.at - self._loop.time()))
                self.trace.append(f"{event.at:.2f} {event.kind} {event.node}")
                tasks.start_soon(self._apply_event, tasks, event)
            await anyio.sleep(max(0.0, FAULTS_UNTIL + SETTLED_AFTER - self._loop.time()))
            before = self._read_progress()
            await anyio.sleep(MOVED_WITHIN)
            self._check_end(before)
            tasks.cancel_scope.cancel()

    async def _begin_life(self, tasks: TaskGroup, number: int, after: float) -> None:
        await anyio.sleep(after)
        node = SharingNode(f"http://node{number}", self._server, self._meet_fault, self._chance)
        self._nodes[number] = node
        tasks.start_soon(node.run)

    async def _apply_event(self, tasks: TaskGroup, event: NodeEvent) -> None:
        node = self._nodes.pop(event.node, None)
        if node is None:
            return  # it is down
        if event.kind in ("kill", "stop"):
            if event.kind == "kill":
                node.kill()
            else:
                await node.stop()
            await self._begin_life(tasks, event.node, event.seconds)
            return
        self._nodes[event.node] = node
        if event.kind == "away":
            node.absence.ends = self._loop.time() + event.seconds
        elif event.kind == "session":
            self._server.end_session(node.pid)
            self._intrude(node)
        else:
            self._change_drain(sharing_state.drain_node, node.url)
            await anyio.sleep(event.seconds)
            self._change_drain(sharing_state.resume_node, node.url)

    def _change_drain(self, change: Callable[[Database, Node], None], url: str) -> None:
        session = ModelledSession(self._server, lambda _, __: None)
        change(session, Node("drained", url))
        session.close()

    def _meet_fault(self, session: ModelledSession, statement: str) -> None:
        """End a session at a statement, or undo its transaction, by chance."""
        node = next((one for one in self._nodes.values() if one.pid == session.pid), None)
        late = self._loop.time() > FAULTS_UNTIL
        rate = self._rate * (COMMITS if statement == "COMMIT" else 1)
        if node is None or late or self._chance.random() >= rate:
            return
        if session.in_transaction and self._chance.random() < 1 / 3:
            self.trace.append(f"{self._loop.time():.2f} denied {statement[:30]}")
            session.undo()
            raise AbortedError(DENIED)
        stored = statement == "COMMIT" and self._chance.random() < 1 / 2
        self.trace.append(f"{self._loop.time():.2f} ended {statement[:30]} {stored}")
        session.end(stored=stored)
        self._intrude(node)
        raise AbortedError(GONE)

    def _intrude(self, node: SharingNode) -> None:
        """Let another daemon have some groups of a node whose session has ended, for a moment."""
        groups = [find_group(agent.agent_id) for agent in AGENTS.agents]
        mine = sorted({group for group in groups if group in node.session.epochs})
        taken = [group for group in mine if self._chance.random() < 1 / 2]
        pid = self._server.intrude(taken)
        if self._chance.random() < 1 / 2:
            self._server.end_session(pid)  # otherwise it is silent, and ends by that

    def _read_progress(self) -> Mapping[str, int]:
        return {str(agent): int(steps) for agent, steps in self._server.db.execute(PROGRESS)}

    def _check_end(self, before: Mapping[str, int]) -> None:
        """Check that each agent goes on, at no more than one node."""
        now = self._read_progress()
        for agent, steps in before.items():
            owners = [node.url for node in self._nodes.values() if node.storage.owns(agent)]
            if now[agent] == steps:
                self.problems.append(f"settled: no node works for {agent} (it is of {owners})")
            if len(owners) > 1:  # none has it for a moment when one has given it away
                self.problems.append(f"one at a time: {owners} work for {agent}")
