"""Run the broker, and give it the channels of all workers that may ask a provider.

The supervisor keeps a copy of the broker's end of each channel. A broker that replaces a dead one
gets the channels as they are, with the connections that workers opened meanwhile.
"""

import itertools
import math
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import structlog
from pydantic import JsonValue

from orchestrator.broker import broker_wire
from orchestrator.broker.broker_wire import (
    CallEnded,
    ChannelAccepted,
    ChannelClose,
    ChannelOpen,
    ChannelWarm,
    Grant,
)
from orchestrator.errors import WorkerError
from orchestrator.loop_owned import LoopOwned
from orchestrator.processes import restarts
from orchestrator.processes.call_ledger import CallLedger
from orchestrator.processes.child_process import (
    ChildProcess,
    DescriptorChild,
    Program,
    Spawn,
    execute,
    running_with_descriptors,
)
from orchestrator.processes.kept_child import KeptChild
from orchestrator.processes.restarts import ExitKind
from orchestrator.settings import Settings
from thinker.protocol.env import inherited

ARGV = (sys.executable, "-P", "-m", "orchestrator.broker")
TIMEOUT = 10.0  # seconds for the broker to answer; it does at once
STILL_WARM = 5.0  # seconds; most servers keep a connection for longer
LONGEST_WAIT = 60.0  # seconds between two starts at most: no agent can do without the broker
# Variables of the daemon's that say how providers are reached.
NETWORK = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")
log = structlog.get_logger()


class BookOfAgents(Protocol):
    """Takes an agent beside what a `BookOfCalls` takes."""

    def __call__(self, agent_id: str, work: str, call: CallEnded, *, died: bool) -> None: ...


@dataclass(eq=False, kw_only=True)
class BrokerChild(DescriptorChild):
    """A running broker, which takes its ends of ``channels``."""

    channels: Mapping[int, "BrokerChannel"] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)  # numbers of its channels

    @property
    def busy(self) -> bool:
        """Whether a worker may ask a provider."""
        return any(channel.calls.works for channel in self.channels.values())


@dataclass(eq=False)
class BrokerChannel:
    """The channel of one worker: both ends, what its agent may do, and what its calls used."""

    number: int
    agent_id: str
    grants: tuple[Grant, ...] = field(repr=False)
    brokers: socket.socket
    workers: socket.socket
    calls: CallLedger
    warmed: float = -math.inf  # when it was last said that its worker will ask


class ModelBroker(LoopOwned):
    """Keeps a broker running while `run` runs and an agent is defined that needs one.

    ``book`` is given the calls that no worker named in its steps and answers.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = restarts.jitter,
        spawn: Spawn = execute,
    ) -> None:
        network = {name: value for name, value in environ.items() if name.lower() in NETWORK}
        self._env = {
            **inherited(environ),
            **network,
            broker_wire.LOG_VARIABLE: settings.log_level,
        }
        self._cwd = settings.home
        self._spawn = spawn
        self._kept = KeptChild("the broker", self, clock, jitter, LONGEST_WAIT)
        self.run = self._kept.run
        self.book: BookOfAgents = _unbooked
        self._users: set[str] = set()
        self._clock = clock
        self._channels: dict[int, BrokerChannel] = {}
        self._of_agents: dict[str, BrokerChannel] = {}  # the newest of each
        self._ledgers: dict[int, CallLedger] = {}  # until the broker has closed the channel
        self._numbers = itertools.count(1)

    @property
    def wanted(self) -> bool:
        """Whether an agent or a worker needs it."""
        return bool(self._users or self._channels)

    @property
    def history(self) -> restarts.History:
        return self._kept.history

    @property
    def child(self) -> ChildProcess | None:
        """The broker, while it runs."""
        return self._kept.child

    def pids(self) -> list[int]:
        return [] if self._kept.child is None else [self._kept.child.pid]

    def need(self, agent_id: str, *, needed: bool) -> None:
        """Say whether an agent's workers will need the broker."""
        before = self.wanted
        (self._users.add if needed else self._users.discard)(agent_id)
        if self.wanted != before:
            self._kept.wake()

    @contextmanager
    def channel(self, agent_id: str, grants: tuple[Grant, ...]) -> Iterator[BrokerChannel | None]:
        """Open a channel for a worker, while the block lasts; None for one without grants.

        Raises:
            WorkerError: the system refuses.
        """
        if not grants:
            yield None
            return
        try:
            brokers, workers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise WorkerError(f"agent {agent_id!r}: no channel to the broker: {error}") from error
        calls = CallLedger(partial(self.book, agent_id), self._watch)
        number = next(self._numbers)
        found = BrokerChannel(number, agent_id, grants, brokers, workers, calls)
        with brokers, workers:
            self._channels[number], self._ledgers[number] = found, calls
            self._of_agents[agent_id] = found
            self._kept.wake()
            try:
                yield found
            finally:
                del self._channels[number]
                if self._of_agents[agent_id] is found:
                    del self._of_agents[agent_id]
                self._kept.wake()

    def warm(self, agent_id: str) -> None:
        """Let the broker connect to the provider of an agent that is about to ask it."""
        channel, child, now = self._of_agents.get(agent_id), self._kept.child, self._clock()
        if channel is None or child is None or now - channel.warmed < STILL_WARM:
            return
        channel.warmed = now
        child.peer.notify(broker_wire.CHANNEL_WARM, ChannelWarm(channel=channel.number))

    # --- the duty of the child -------------------------------------------------------------------

    @asynccontextmanager
    async def start(self) -> AsyncIterator[BrokerChild]:
        """Start a broker, which has no channels yet."""
        program = Program("the broker", ARGV, self._env, self._cwd, broker_wire.FD_VARIABLE)
        async with running_with_descriptors(program, BrokerChild, self._spawn) as child:
            child.peer.notifications |= {broker_wire.CALL_ENDED: self._on_call_ended}
            child.channels = self._channels
            child.watch()
            log.debug("broker_ready", pid=child.pid)
            yield child

    async def attend(self, child: BrokerChild) -> None:
        """Open the channels that the broker does not have, and close those that have ended."""
        for channel in list(self._channels.values()):
            if channel.number in child.opened or channel.number not in self._channels:
                continue
            child.opened.add(channel.number)
            message = ChannelOpen(
                channel=channel.number, agent_id=channel.agent_id, grants=channel.grants
            )
            sent = str(channel.number).encode()
            socket.send_fds(child.descriptors, [sent], [channel.brokers.fileno()])
            await child.peer.call(
                broker_wire.CHANNEL_OPEN, message, ChannelAccepted, timeout=TIMEOUT
            )
        for number in child.opened - self._channels.keys():
            child.opened.discard(number)
            over = ChannelClose(channel=number)
            await child.peer.call(broker_wire.CHANNEL_CLOSE, over, ChannelAccepted, timeout=TIMEOUT)
            self._ledgers.pop(number, None)

    def ended(self, kind: ExitKind, reason: str) -> None:
        """Forget channels that have ended: no more calls of theirs will be reported."""
        self._ledgers = {number: channel.calls for number, channel in self._channels.items()}
        log.log(kind.log_level, "broker_ended", kind=kind, reason=reason)

    def _watch(self) -> None:
        if self._kept.child is not None:
            self._kept.child.watch()

    def _on_call_ended(self, params: JsonValue) -> None:
        call = CallEnded.model_validate(params)
        calls = self._ledgers.get(call.channel)
        if calls is not None:
            calls.report(call)


def _unbooked(agent_id: str, work: str, call: CallEnded, *, died: bool) -> None:
    log.warning("call_not_booked", agent_id=agent_id, work=work, tokens=call.usage.total, died=died)
