"""One life of a node that shares agents: the product's placer, session, writer and store."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar

import anyio

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql.nodes.placer import Placer
from orchestrator.extensions.postgresql.pg_reader import PostgresReader
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.extensions.postgresql.writing_session import WritingSession
from orchestrator.extensions.selftest.lives.lock_server import LockServer
from orchestrator.extensions.selftest.lives.modelled_session import Fault, ModelledSession
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import (
    MAX_GROUP,
    Commits,
    Job,
    StorageFailedError,
    resolve_futures,
)
from orchestrator.journal_address import DatabaseServer
from orchestrator.placement import Share, name_account_owner
from orchestrator.settings import Settings

AGENTS = AgentsFile.model_validate(
    {"agents": [{"agentId": f"agent{number}", "model": "m"} for number in range(4)]}
)
CHANNEL = "telegram"
LATENCY = 0.002  # seconds that a read or a commit takes at most
STOPS = 1.0  # seconds in which turns may go on
IDLE = 2.0  # seconds that an agent or a channel waits at most
T = TypeVar("T")


class Absence:
    """Until when a machine sleeps, or is cut off from the server."""

    def __init__(self) -> None:
        self.ends = 0.0
        self.gone = False  # for ever

    def count_left(self) -> float:
        """Return the seconds that are left of it."""
        return max(0.0, self.ends - asyncio.get_running_loop().time())

    async def wait_for_end(self) -> None:
        """Wait until it has ended."""
        while left := self.count_left():  # noqa: ASYNC110 - it may be prolonged
            await anyio.sleep(left)


class ModelledWriter:
    """The writer's thread as a timer, which stands still while the machine is away."""

    def __init__(self, commits: Commits, beat: float, absence: Absence, chance: Random) -> None:
        self._commits = commits
        self._beat = beat
        self._absence = absence
        self._chance = chance
        self._jobs: list[Job[Any]] = []
        self._busy = False
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(beat, self._send_heartbeat)

    def put(self, job: Job[Any]) -> None:
        self._jobs.append(job)
        self._start_commit()

    def close(self) -> None:
        self._timer.cancel()

    def _start_commit(self) -> None:
        if self._jobs and not self._busy:
            self._busy = True
            self._timer.cancel()
            self._loop.call_later(self._chance.uniform(0, LATENCY), self._commit_group)

    def _send_heartbeat(self) -> None:
        if not self._wait_for_return(self._send_heartbeat):
            self._commits.send_heartbeat()
            self._timer = self._loop.call_later(self._beat, self._send_heartbeat)

    def _commit_group(self) -> None:
        if self._wait_for_return(self._commit_group):
            return
        group, self._jobs = self._jobs[:MAX_GROUP], self._jobs[MAX_GROUP:]
        self._commits.commit_group(group)
        self._loop.call_soon(resolve_futures, group)
        self._busy = False
        self._timer = self._loop.call_later(self._beat, self._send_heartbeat)
        self._start_commit()

    def _wait_for_return(self, then: Callable[[], None]) -> bool:
        left = self._absence.count_left()
        if left:
            self._timer = self._loop.call_later(left, then)
        return bool(left) or self._absence.gone


class ModelledReader(PostgresReader):
    """Reads of the modelled server, which wait while the machine is away."""

    def __init__(self, address: DatabaseServer, server: LockServer, absence: Absence) -> None:
        super().__init__(address)
        self._rows = server
        self._absence = absence

    async def __call__(self, work: Callable[..., T], *args: object) -> T:
        await anyio.sleep(LATENCY)
        await self._absence.wait_for_end()
        session = ModelledSession(self._rows, lambda _, __: None)
        try:
            return work(session, *args)
        finally:
            session.close()


class SharingNode:
    """One life of the node at ``url``; ``fault`` may end its sessions at any statement."""

    def __init__(self, url: str, server: LockServer, fault: Fault, chance: Random) -> None:
        self.url = url
        self.absence = Absence()
        self.stopping = anyio.Event()
        self.scope = anyio.CancelScope()
        self._server = server
        self._chance = chance
        self._turns: dict[str, anyio.CancelScope] = {}
        self._loop = asyncio.get_running_loop()
        address = DatabaseServer("postgresql:///modelled", Path("/nonexistent/journal.db"), url)
        self.session = WritingSession(
            address, lambda _: ModelledSession(server, fault), self._loop.time
        )
        self.storage = PostgresStorage(
            address,
            session=self.session,
            writer=lambda commits, beat: ModelledWriter(commits, beat, self.absence, chance),
            read=lambda server_address: ModelledReader(server_address, server, self.absence),
        )
        self.store = Store(self.storage)
        nothing = SimpleNamespace(wake=lambda: None, doubt_chats=lambda _: None)
        view: Any = SimpleNamespace(
            store=self.store,
            settings=Settings.model_validate({"home": "/nonexistent", "node_url": url}),
            machine=SimpleNamespace(monotonic=self._loop.time, clock=self._read_clock),
            stopping=self.stopping,
            get_agents_file=lambda: AGENTS,
            operations=SimpleNamespace(dispatcher=self, guard=nothing),
            delivery=nothing,
            control=nothing,
            approvals=nothing,
            epoch=server.begin_session(),  # greater than those of all lives before
        )
        self.placer = Placer(view, self.storage, lambda: True)

    @property
    def pid(self) -> int:
        """The number of the session in which it writes."""
        return 0 if self.session.holder is None else self.session.holder[0]

    async def run(self) -> None:
        """Work until it is killed or stopped."""
        with self.scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.placer.run)
                tasks.start_soon(self._poll_channel)
                for agent in AGENTS.agents:
                    tasks.start_soon(self._work_for, agent.agent_id)
                failure = await self.store.wait_for_failure()
                raise failure
        self.absence.gone = True

    def kill(self) -> None:
        """End as a process does at SIGKILL: the server ends its session."""
        self.absence.gone = True
        self._server.end_session(self.pid)
        self.storage.writer.close()
        self.scope.cancel()

    async def stop(self) -> None:
        """Stop as at SIGTERM: no turn begins, and those that run end at a commit."""
        self.stopping.set()
        await anyio.sleep(STOPS)
        self.scope.cancel()
        await self.absence.wait_for_end()
        self.store.close()
        self.absence.gone = True

    def leave_turns(self, share: Share) -> bool:
        """End the turns of a share; return whether none is left."""
        left = [scope for agent, scope in self._turns.items() if agent in share]
        for scope in left:
            scope.cancel()
        return not left

    async def _poll_channel(self) -> None:
        owner = name_account_owner(CHANNEL)
        while True:
            await anyio.sleep(self._chance.uniform(0, IDLE))
            if self.placer.holds(CHANNEL):
                await self._try(lambda: self.store.transact(note_poll, owner=owner))

    async def _work_for(self, agent: str) -> None:
        """Work for an agent, a turn after the other, while this node has it."""
        while True:
            await anyio.sleep(self._chance.uniform(0, IDLE))
            if self.placer.owns(agent) and not self.stopping.is_set():
                with anyio.CancelScope() as scope:
                    self._turns[agent] = scope
                    await self._try(lambda: self._run_turn(agent))
                del self._turns[agent]

    async def _try(self, work: Callable[[], Any]) -> None:
        try:
            await work()
        except StorageFailedError as error:
            self.store.record_failure(error)
        except JournalError:
            await anyio.sleep(LATENCY)  # the journal is away, or another node works for the agent

    async def _run_turn(self, agent: str) -> None:
        name = f"{agent} {self._chance.getrandbits(32)}"
        turn, steps = await self.store.transact(
            begin_turn, agent, name, self._read_clock(), owner=agent
        )
        for number in range(self._chance.choice((1, 1, 2, 3))):
            await anyio.sleep(self._chance.uniform(0, 0.5))
            await self.store.ensure_held(agent)
            if self._server.find_holder(agent) not in (self.pid, None):
                self._server.problems.append(f"effect: {self.url} acted for {agent} of another")
            await self.store.transact(advance_agent, agent, steps + number, owner=agent)
        await self.store.transact(close_turn, turn, owner=agent)

    def _read_clock(self) -> int:
        return int(self._loop.time() * 1000)


def begin_turn(db: Database, agent: str, name: str, now: int) -> tuple[str, int]:
    """Go on with the open turn of an agent, or begin one; return it and what the agent has done."""
    steps = int(db.execute("SELECT steps FROM progress WHERE agent = ?", (agent,)).get)
    found = "SELECT id FROM turn WHERE agent_id = ? AND state = 'running'"
    turn = db.execute(found, (agent,)).get
    if turn is None:
        db.execute(
            "INSERT INTO turn(id, agent_id, chat_key, session_id, recipe, state, epoch, deadline,"
            " allowed, code_ver, started_at) VALUES(?, ?, ?, 1, 'interactive', 'running', 1, 1, 1,"
            " '', ?)",
            (name, agent, agent, now),
        )
    return (name if turn is None else str(turn)), steps


def advance_agent(db: Database, agent: str, steps: int) -> None:
    """Count one more of the steps that the turn knows of."""
    db.execute("UPDATE progress SET steps = ? WHERE agent = ?", (steps + 1, agent))


def close_turn(db: Database, turn: str) -> None:
    """Close a turn."""
    db.execute("UPDATE turn SET state = 'closed' WHERE id = ?", (turn,))


def note_poll(db: Database) -> None:
    """Count a request for the messages of the channel."""
    db.execute("UPDATE polled SET times = times + 1")
