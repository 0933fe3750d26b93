"""Run the broker, and hand it the channels of all workers that use a provider.

The supervisor keeps a copy of the broker's end of each channel. A broker that replaces a dead one
gets the same channels, with the connections that workers opened meanwhile.

The usage of model calls is counted here. A worker names its calls in the steps and answers that it
hands over, and the broker's figures replace its own. A call that it does not name is booked
separately, when the work that can have made it has ended: a repeated or cut call, or one that the
worker keeps to itself.
"""

import asyncio
import itertools
import math
import socket
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, TypeVar, cast

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
from orchestrator.loop_bound import LoopBound
from orchestrator.processes import restarts
from orchestrator.processes.child_process import (
    ChildProcess,
    DescriptorChild,
    Program,
    Spawn,
    execute_program,
    run_child_with_descriptors,
)
from orchestrator.processes.kept_child import KeptChild
from orchestrator.processes.restarts import ExitKind
from orchestrator.settings import Settings
from thinker.protocol.background import EmbeddingResult, MeteredResult
from thinker.protocol.env import select_inherited_variables
from thinker.protocol.methods import StepCommit
from thinker.protocol.peer import PeerClosedError

MAX_CANCELLED_WORKS = 16  # cancelled works whose calls may still be reported
REPORT_SECONDS = 1.0  # seconds to wait for the broker's report of a call that a worker names
MAX_ESTIMATE_RATIO = (
    2  # how far the broker's estimate may exceed the worker's figure before it counts
)
Counted = TypeVar("Counted", bound=StepCommit | MeteredResult)


class CallRecorder(Protocol):
    """Takes a turn's id or a job's name, a call, and whether the worker died meanwhile."""

    def __call__(self, work: str, call: CallEnded, *, died: bool) -> None: ...


@dataclass
class _EndedCall:
    """An ended call, and the works that may still name it."""

    call: CallEnded
    works: set[str]


class _CancelledWork(NamedTuple):
    """A cancelled work, and the time in which it could make calls."""

    name: str
    began: float
    ended: float


@dataclass(eq=False)
class CallLedger:
    """The calls of one worker; ``book`` gets the unnamed ones, each work calls ``began``.

    ``clock`` returns seconds.
    """

    book: CallRecorder
    began: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    works: list[str] = field(default_factory=list)  # turns and jobs that run
    _died: list[str] = field(default_factory=list)  # works that the worker's death ended
    _left: deque[_CancelledWork] = field(default_factory=lambda: deque(maxlen=MAX_CANCELLED_WORKS))
    _ended: list[_EndedCall] = field(default_factory=list)
    _awaited: dict[str, asyncio.Future[None]] = field(default_factory=dict)

    @contextmanager
    def record_work(self, name: str) -> Iterator[None]:
        """Assign the calls that end inside the block to this work, unless they are another's."""
        began = self.clock()
        self.works.append(name)
        self.began()
        try:
            yield
        except PeerClosedError:
            self._died.append(name)
            raise
        except asyncio.CancelledError:  # its worker is told to abandon it, which cuts a call off
            self._left.append(_CancelledWork(name, began, self.clock()))
            raise
        finally:
            self.works.remove(name)
            for ended in self._ended:
                ended.works.discard(name)
            if self._ended:
                self._book_unnamed(name)

    def record_call(self, call: CallEnded) -> None:
        """Record the broker's report of an ended call."""
        if (
            call.cut
            and (left := self._take_cancelled_work(self.clock() - call.seconds)) is not None
        ):
            self.book(left, call, died=False)
            return
        self._ended.append(_EndedCall(call, set(self.works)))
        waiting = self._awaited.get(call.call_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
        elif not self.works:
            self._book_unnamed(self._died[0] if self._died else "")

    async def replace_counts(self, result: Counted) -> Counted:
        """Return a step or answer with the broker's figures instead of the worker's."""
        calls: list[CallEnded] = []
        for name in result.call_ids:
            calls += await self._take_calls(name)
        if not calls:
            return result
        usage, guessed = calls[0].usage, calls[0].estimated
        for call in calls[1:]:
            usage, guessed = usage + call.usage, guessed or call.estimated
        if guessed and usage.total < MAX_ESTIMATE_RATIO * result.usage.total:
            return result  # the worker has seen the text
        model = calls[-1].model or result.model
        update: dict[str, object] = {"usage": usage}
        if not isinstance(result, EmbeddingResult):  # whose model names its vectors
            update["model"] = model
        return cast("Counted", result.model_copy(update=update))

    async def _take_calls(self, call_id: str) -> Sequence[CallEnded]:
        """Take the calls of this name; wait a moment for the first."""
        if call_id not in [ended.call.call_id for ended in self._ended]:
            waiting = self._awaited[call_id] = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(REPORT_SECONDS):
                    await waiting
            except TimeoutError:
                return ()
            finally:
                del self._awaited[call_id]
        named = [ended.call for ended in self._ended if ended.call.call_id == call_id]
        self._ended = [ended for ended in self._ended if ended.call.call_id != call_id]
        return named

    def _take_cancelled_work(self, began: float) -> str | None:
        """Remove and return the cancelled work whose call may have begun then, or None."""
        found = (left for left in reversed(self._left) if left.began <= began <= left.ended)
        left = next(found, None)
        if left is None:
            return None
        self._left.remove(left)
        return left.name

    def _book_unnamed(self, work: str) -> None:
        """Book the calls that no work can name any more."""
        for ended in self._ended:
            if not ended.works:
                died = work in self._died
                if died:
                    self._died.remove(work)  # one call under way at most
                self.book(work, ended.call, died=died)
        self._ended = [ended for ended in self._ended if ended.works]


ARGV = (sys.executable, "-P", "-m", "orchestrator.broker")
TIMEOUT = 10.0  # seconds for the broker to answer; it needs milliseconds
WARM_SECONDS = 5.0  # seconds; most servers keep a connection for longer
MAX_RESTART_SECONDS = 60.0  # seconds between two starts at most: no agent can do without the broker
# Variables of the daemon's that say how providers are reached.
NETWORK = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")
log = structlog.get_logger()


class AgentUsageRecorder(Protocol):
    """Takes an agent in addition to the arguments of a `CallRecorder`."""

    def __call__(self, agent_id: str, work: str, call: CallEnded, *, died: bool) -> None: ...


@dataclass(eq=False, kw_only=True)
class BrokerChild(DescriptorChild):
    """A running broker, which takes its ends of ``channels``."""

    channels: Mapping[int, "BrokerChannel"] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)  # numbers of its channels

    @property
    def is_busy(self) -> bool:
        """Whether a worker may call a provider."""
        return any(channel.calls.works for channel in self.channels.values())


@dataclass(eq=False)
class BrokerChannel:
    """The channel of one worker: both ends, its agent's rights, and its calls' usage."""

    number: int
    agent_id: str
    grants: tuple[Grant, ...] = field(repr=False)
    brokers: socket.socket
    workers: socket.socket
    calls: CallLedger
    warmed: float = -math.inf  # when a call of its worker was last announced


class ModelBroker(LoopBound):
    """Keeps a broker running while `run` runs and some agent needs one.

    ``book`` gets the calls that no worker named in its steps and answers.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = restarts.draw_jitter,
        spawn: Spawn = execute_program,
    ) -> None:
        network = {name: value for name, value in environ.items() if name.lower() in NETWORK}
        self._env = {
            **select_inherited_variables(environ),
            **network,
            broker_wire.LOG_VARIABLE: settings.log_level,
        }
        self._cwd = settings.home
        self._spawn = spawn
        self._kept = KeptChild("the broker", self, clock, jitter, MAX_RESTART_SECONDS)
        self.run = self._kept.run
        self.book: AgentUsageRecorder = _log_unbooked_call
        self._users: set[str] = set()
        self._clock = clock
        self._channels: dict[int, BrokerChannel] = {}
        self._of_agents: dict[str, BrokerChannel] = {}  # the newest of each
        self._ledgers: dict[int, CallLedger] = {}  # until the broker has closed the channel
        self._numbers = itertools.count(1)

    @property
    def is_needed(self) -> bool:
        """Whether an agent or a worker needs the broker."""
        return bool(self._users or self._channels)

    @property
    def history(self) -> restarts.History:
        return self._kept.history

    @property
    def child(self) -> ChildProcess | None:
        """The broker, while it runs."""
        return self._kept.child

    def list_pids(self) -> list[int]:
        return [] if self._kept.child is None else [self._kept.child.pid]

    def set_needed(self, agent_id: str, *, needed: bool) -> None:
        """Set whether the agent's workers will need the broker."""
        before = self.is_needed
        (self._users.add if needed else self._users.discard)(agent_id)
        if self.is_needed != before:
            self._kept.wake()

    @contextmanager
    def open_channel(
        self, agent_id: str, grants: tuple[Grant, ...], *, aside: bool = False
    ) -> Iterator[BrokerChannel | None]:
        """Open a channel for a worker during the block; None for a worker without grants.

        A worker that is not the agent's own is one ``aside``.

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
        calls = CallLedger(partial(self.book, agent_id), self._watch_child)
        number = next(self._numbers)
        found = BrokerChannel(number, agent_id, grants, brokers, workers, calls)
        with brokers, workers:
            self._channels[number], self._ledgers[number] = found, calls
            if not aside:
                self._of_agents[agent_id] = found
            self._kept.wake()
            try:
                yield found
            finally:
                del self._channels[number]
                if self._of_agents.get(agent_id) is found:
                    del self._of_agents[agent_id]
                self._kept.wake()

    def warm_connection(self, agent_id: str) -> None:
        """Make the broker connect to the provider of an agent that is about to call it."""
        channel, child, now = self._of_agents.get(agent_id), self._kept.child, self._clock()
        if channel is None or child is None or now - channel.warmed < WARM_SECONDS:
            return
        channel.warmed = now
        child.peer.notify(broker_wire.CHANNEL_WARM, ChannelWarm(channel=channel.number))

    # --- the purpose of the child ----------------------------------------------------------------

    @asynccontextmanager
    async def start(self) -> AsyncIterator[BrokerChild]:
        """Start a broker, which has no channels yet."""
        program = Program("the broker", ARGV, self._env, self._cwd, broker_wire.FD_VARIABLE)
        async with run_child_with_descriptors(program, BrokerChild, self._spawn) as child:
            child.peer.notifications |= {broker_wire.CALL_ENDED: self._on_call_ended}
            child.channels = self._channels
            child.start_watching()
            log.debug("broker_ready", pid=child.pid)
            yield child

    async def update_child(self, child: BrokerChild) -> None:
        """Open the channels that the broker lacks, and close those that have ended."""
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

    def on_child_ended(self, kind: ExitKind, reason: str) -> None:
        """Forget ended channels: none of their calls will be reported."""
        self._ledgers = {number: channel.calls for number, channel in self._channels.items()}
        log.log(kind.log_level, "broker_ended", kind=kind, reason=reason)

    def _watch_child(self) -> None:
        child = self._kept.child
        if child is not None and not child.is_watched:
            child.start_watching()

    def _on_call_ended(self, params: JsonValue) -> None:
        call = CallEnded.model_validate(params)
        calls = self._ledgers.get(call.channel)
        if calls is not None:
            calls.record_call(call)


def _log_unbooked_call(agent_id: str, work: str, call: CallEnded, *, died: bool) -> None:
    log.warning("call_not_booked", agent_id=agent_id, work=work, tokens=call.usage.total, died=died)
