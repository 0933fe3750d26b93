"""A running worker process: its turns, and the requests that it makes for them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import anyio
import structlog
from pydantic import JsonValue, ValidationError

from orchestrator.errors import WorkerError, WorkerLostError
from orchestrator.failpoints import failpoint
from orchestrator.processes import child_process
from orchestrator.processes.launch import LaunchSpec
from orchestrator.processes.model_broker import BrokerChannel, CallLedger
from thinker.protocol import methods
from thinker.protocol.background import MeteredResult
from thinker.protocol.context_windows import WINDOW, ContextWindow
from thinker.protocol.messages import Frozen, ToolResult, UserMessage
from thinker.protocol.methods import NOT_KEPT, SentTurnCache
from thinker.protocol.model_endpoints import find_call_seconds
from thinker.protocol.peer import FENCED, PeerClosedError, RpcError

Answer = TypeVar("Answer", bound=Frozen)
REQUEST_GRACE = 15.0  # seconds beyond the time that the worker gives its model
log = structlog.get_logger()
TURN_GRACE = 30.0  # seconds beyond a turn's own deadline before its worker counts as hung


class WorkerHost(Protocol):
    """Serves a worker's requests about one turn."""

    async def commit_step(self, commit: methods.StepCommit) -> methods.StepCommitted:
        """Commit a step (T3)."""

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a planned tool call and return its result (T4, effect, T5)."""

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """Add messages that arrived during the turn, and return them."""

    def show_partial_answer(self, text: str) -> None:
        """Show the answer so far."""


@dataclass
class Worker(child_process.ChildProcess):
    """A running worker. Its requests about turns that it does not run are refused."""

    spec: LaunchSpec = field(kw_only=True)
    turns: dict[str, WorkerHost] = field(default_factory=dict)
    turn_grace: float = TURN_GRACE  # seconds
    embedded: set[str] = field(default_factory=set)  # tool descriptions that it has vectors of
    turn_cache: SentTurnCache = field(default_factory=SentTurnCache)
    calls: CallLedger | None = None  # the broker's figures; None for a local model
    tell_window: Callable[[ContextWindow], None] | None = None
    users: int = 0  # callers that hold it, with a turn or about to run one

    @property
    def is_usable(self) -> bool:
        """Whether the worker can take a new turn."""
        ending = self.stop_requested or self.hung
        return not (ending or self.exited.is_set() or self.peer.closed.is_set())

    async def run_turn(
        self, run: methods.TurnRun, host: WorkerHost, now: float
    ) -> methods.TurnResult:
        """Run a turn in the worker to its end.

        Raises:
            WorkerLostError: the worker ended, or ran the turn far beyond its deadline.
            WorkerError: the worker answered with an error.
        """
        self.turns[run.turn_id] = host
        failpoint("run_turn:before")
        try:
            with self._record_work(run.turn_id):
                ended = await self._request_turn(
                    run, max(0.0, run.deadline - now) + self.turn_grace
                )
                result = ended.turn_result
                if ended.step is not None:
                    await self._commit_step(host, ended.step)
        except anyio.get_cancelled_exc_class():
            self.peer.notify(methods.TURN_CANCEL, methods.TurnCancel(turn_id=run.turn_id))
            raise
        except PeerClosedError as error:
            raise WorkerLostError(f"agent {self.spec.agent_id!r} lost its process") from error
        except TimeoutError as error:
            self.abort("a turn ran far over its deadline")
            raise WorkerLostError(f"agent {self.spec.agent_id!r} hung") from error
        except (RpcError, ValueError) as error:
            raise WorkerError(f"agent {self.spec.agent_id!r}: {error}") from error
        finally:
            del self.turns[run.turn_id]
        failpoint("run_turn:after")
        return result

    async def _request_turn(self, run: methods.TurnRun, seconds: float) -> methods.TurnEnded:
        call = partial(self.peer.call, methods.TURN_RUN, result=methods.TurnEnded, timeout=seconds)
        try:
            return await call(self.turn_cache.shorten_turn(run))
        except RpcError as error:
            if error.code != NOT_KEPT:
                raise
        self.turn_cache.forget_parts()
        return await call(self.turn_cache.shorten_turn(run))

    def _record_work(self, name: str) -> AbstractContextManager[None]:
        if not self.is_watched:
            self.start_watching()
        return nullcontext() if self.calls is None else self.calls.record_work(name)

    async def send_request(
        self, method: str, params: Frozen, result: type[Answer], work: str = ""
    ) -> Answer:
        """Send a request outside of any turn, and return the answer.

        ``work`` is the name of its job.

        Raises:
            WorkerError: the worker ended, answered with an error, or did not answer in time.
        """
        name = f"agent {self.spec.agent_id!r}: {method}"
        try:
            with self._record_work(work):
                seconds = find_call_seconds(self.spec.settings) + REQUEST_GRACE
                answer = await self.peer.call(method, params, result, timeout=seconds)
                if self.calls is not None and isinstance(answer, MeteredResult):
                    answer = await self.calls.replace_counts(answer)
                return answer
        except PeerClosedError as error:
            raise WorkerLostError(f"{name}: its process ended") from error
        except TimeoutError as error:
            raise WorkerError(f"{name}: no answer in time") from error
        except (RpcError, ValidationError) as error:
            raise WorkerError(f"{name}: {error}") from error

    def request_drain(self) -> None:
        """Make the worker leave each turn at its next step boundary."""
        self.stop_requested = True
        self.peer.notify(methods.DRAIN)

    # --- requests of the worker ----------------------------------------------------------------

    def _require_host(self, turn_id: str) -> WorkerHost:
        host = self.turns.get(turn_id)
        if host is None:
            raise RpcError(FENCED, f"turn {turn_id} is not run by this process")
        return host

    async def _on_commit(self, params: JsonValue) -> methods.StepCommitted:
        commit = methods.StepCommit.model_validate(params)
        return await self._commit_step(self._require_host(commit.turn_id), commit)

    async def _commit_step(
        self, host: WorkerHost, commit: methods.StepCommit
    ) -> methods.StepCommitted:
        if self.calls is not None and commit.call_ids:
            commit = await self.calls.replace_counts(commit)
        return await host.commit_step(commit)

    async def _on_tool_call(self, params: JsonValue) -> ToolResult:
        call = methods.ToolCallParams.model_validate(params)
        return await self._require_host(call.turn_id).call_tool(call.seq)

    async def _on_steer(self, params: JsonValue) -> methods.JoinedMessages:
        turn_id = methods.TurnSteer.model_validate(params).turn_id
        return methods.JoinedMessages(
            messages=await self._require_host(turn_id).take_new_messages()
        )

    def _on_delta(self, params: JsonValue) -> None:
        delta = methods.TurnDelta.model_validate(params)
        host = self.turns.get(delta.turn_id)
        if host is not None:
            host.show_partial_answer(delta.text)

    def _on_window(self, params: JsonValue) -> None:
        if self.tell_window is not None:
            self.tell_window(ContextWindow.model_validate(params))

    def _on_stale(self, params: JsonValue) -> None:
        """Give the worker no more turns: one of its replaced files may be out of reach."""
        del params
        log.debug("worker_stale", agent_id=self.spec.agent_id)
        self.stop_requested = True

    def register_handlers(self) -> None:
        super().register_handlers()
        self.peer.requests |= {
            methods.STEP_COMMIT: self._on_commit,
            methods.TOOL_CALL: self._on_tool_call,
            methods.TURN_STEER: self._on_steer,
        }
        self.peer.notifications |= {
            methods.TURN_DELTA: self._on_delta,
            methods.STALE: self._on_stale,
            WINDOW: self._on_window,
        }


@asynccontextmanager
async def run_worker(
    spec: LaunchSpec,
    spawn: child_process.Spawn = child_process.execute_program,
    channel: BrokerChannel | None = None,
) -> AsyncIterator[Worker]:
    """Start a worker and end it when the block ends; see `run_child`.

    The worker gets its end of the ``channel``; without one it calls providers directly.
    """
    program = child_process.Program(
        f"agent {spec.agent_id!r}",
        spec.argv,
        spec.env,
        spec.cwd,
        fd_variable="THINKER_PEER_FD",
        broker=None if channel is None else channel.workers.fileno(),
    )
    make = partial(Worker, spec=spec, calls=None if channel is None else channel.calls)
    async with child_process.run_child(program, make, spawn) as worker:
        if channel is not None:
            channel.workers.close()  # so that the broker sees the worker's end
        yield worker
