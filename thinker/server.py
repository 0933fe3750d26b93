"""The worker's side of the wire: serves turns and requests, commits steps, calls tools."""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import anyio
import structlog
from pydantic import JsonValue

from thinker.agent import Agent
from thinker.extension import BackgroundRequest
from thinker.jail.worker_jail import NO_JAIL, WorkerJail
from thinker.models.wrappers import watch_window
from thinker.protocol import background, methods
from thinker.protocol.background import MeteredResult
from thinker.protocol.context_windows import WINDOW
from thinker.protocol.liveness import answer_pings
from thinker.protocol.logs import bound
from thinker.protocol.messages import Frozen, ToolResult, UserMessage
from thinker.protocol.methods import ReceivedTurnCache, TurnEnded, TurnRun
from thinker.protocol.peer import CANCELLED, FAILED, TOO_LONG, Peer, RequestHandler, RpcError
from thinker.protocol.prompt_record import PromptPreview
from thinker.protocol.rendering import PromptRender, PromptRendered
from thinker.worker_errors import ContextOverflowError, ModelError

GRACE = 60.0  # seconds after a turn's deadline for the supervisor to end it
SHOW_INTERVAL = 0.2  # seconds between updates of a streaming answer
R = TypeVar("R", bound=Frozen)
log = structlog.get_logger()


class RemoteHost:
    """The supervisor as the loop's host, for one turn."""

    def __init__(self, peer: Peer, turn: TurnRun, draining: Callable[[], bool]) -> None:
        self._peer = peer
        self._turn = turn
        self.is_draining = draining
        self.last: methods.StepCommit | None = None  # sent with the turn's result
        self._shown = 0.0
        self._deadline = time.monotonic() + turn.deadline - time.time()

    async def commit_step(self, commit: methods.StepCommit) -> methods.StepCommitted:
        """Commit a step (T3) through the supervisor, which waits out a full disk."""
        if commit.ends is not None:
            self.last = commit
            return methods.StepCommitted(seq=0)
        return await self._call_supervisor(methods.STEP_COMMIT, commit, methods.StepCommitted)

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a tool (T4, effect, T5) through the supervisor, which applies its deadlines."""
        params = methods.ToolCallParams(turn_id=self._turn.turn_id, seq=seq)
        return await self._call_supervisor(methods.TOOL_CALL, params, ToolResult)

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        params = methods.TurnSteer(turn_id=self._turn.turn_id)
        return (
            await self._call_supervisor(methods.TURN_STEER, params, methods.JoinedMessages)
        ).messages

    async def _call_supervisor(self, method: str, params: Frozen, result: type[R]) -> R:
        timeout = max(1.0, self._deadline - time.monotonic()) + GRACE
        return await self._peer.call(method, params, result, timeout=timeout)

    def show_partial_answer(self, text: str) -> None:
        """Send the answer so far, at most once in `SHOW_INTERVAL` seconds."""
        now = time.monotonic()
        if now - self._shown >= SHOW_INTERVAL:
            self._shown = now
            delta = methods.TurnDelta(turn_id=self._turn.turn_id, text=text)
            self._peer.notify(methods.TURN_DELTA, delta)


class WorkerServer:
    """Serves one agent on one wire."""

    def __init__(self, agent: Agent, jail: WorkerJail = NO_JAIL) -> None:
        self._agent = agent
        self._jail = jail
        self._kept = ReceivedTurnCache()
        self._running: dict[anyio.CancelScope, str] = {}  # scope to turn id
        self._background: set[anyio.CancelScope] = set()
        self._draining = False
        self._judged: object = None  # the worker's files when the jail was last checked
        self.requests: dict[str, RequestHandler] = {
            methods.TURN_RUN: self._run_turn,
            methods.PROMPT_PREVIEW: self._preview_prompt,
            methods.PROMPT_RENDER: _render_definition,
            **{name: self._build_handler(asked) for name, asked in agent.requests.items()},
        }
        self.notifications = {
            methods.TURN_CANCEL: self._cancel_turn,
            methods.DRAIN: self._start_draining,
            background.WORK_CANCEL: self._cancel_background,
        }
        self.peer: Peer | None = None

    async def serve_wire(self, peer: Peer, provider: str, model: str) -> None:
        """Serve until the wire closes."""
        self.peer = peer
        watch_window(self._agent.model, partial(peer.notify, WINDOW))
        ready = methods.Ready(
            pid=os.getpid(), provider=provider, model=model, sandbox=self._jail.report
        )
        await answer_pings(peer, ready)

    async def _run_turn(self, params: JsonValue) -> TurnEnded:
        turn = self._kept.restore_turn(TurnRun.model_validate(params))
        if self.peer is None:
            raise RpcError(CANCELLED, "the worker is not serving yet")
        host = RemoteHost(self.peer, turn, self._is_leaving)
        with anyio.CancelScope() as scope, bound(turn_id=turn.turn_id, chat_id=turn.chat.chat_id):
            self._running[scope] = turn.turn_id
            try:
                result = await self._agent.run_turn(turn, host)
                return TurnEnded(step=host.last) if host.last else TurnEnded(result=result)
            finally:
                del self._running[scope]
        raise RpcError(CANCELLED, f"turn {turn.turn_id} was cancelled")

    def _is_leaving(self) -> bool:
        """Return whether a new worker gets the turns, as when a file of this one was replaced."""
        seen = self._agent.preparation.files.seen
        if seen is not self._judged and not self._draining:
            self._judged = seen
            if self._jail.is_stale() and self.peer is not None:
                self.peer.notify(methods.STALE)
                self._start_draining(None)
        return self._draining

    async def _preview_prompt(self, params: JsonValue) -> PromptPreview:
        preview = await self._agent.preview_prompt(TurnRun.model_validate(params))
        if self._is_leaving():
            raise RpcError(CANCELLED, "the worker is being replaced; ask again")
        return preview

    def _cancel_turn(self, params: JsonValue) -> None:
        cancelled = methods.TurnCancel.model_validate(params).turn_id
        for scope, turn_id in self._running.items():
            if turn_id == cancelled:
                scope.cancel()

    def _build_handler(self, asked: BackgroundRequest) -> RequestHandler:
        async def answer_request(params: JsonValue) -> MeteredResult:
            try:
                return await asked.answer(asked.kind.model_validate(params))
            except ModelError as error:
                code = TOO_LONG if isinstance(error, ContextOverflowError) else FAILED
                raise RpcError(code, asked.describe(error)) from error

        async def give_way(params: JsonValue) -> MeteredResult:
            with anyio.CancelScope() as scope:
                self._background.add(scope)
                try:
                    return await answer_request(params)
                finally:
                    self._background.discard(scope)
            raise RpcError(CANCELLED, "cancelled, as a turn waits for the model")

        return give_way if asked.gives_way else answer_request

    def _cancel_background(self, params: JsonValue) -> None:
        del params
        for scope in self._background:
            scope.cancel()

    def _start_draining(self, params: JsonValue) -> None:
        del params
        log.debug("draining", open_turns=len(self._running))
        self._draining = True


async def _render_definition(params: JsonValue) -> PromptRendered:
    """Render a prompt definition without a turn, for its author."""
    from thinker.prompt.render.turn_prompt import render_alone  # noqa: PLC0415 - as in `Preparation._apply_turn_definition`

    return render_alone(PromptRender.model_validate(params))
