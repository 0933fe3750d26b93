"""Run one foreign channel for the supervisor: receive, send, and restart after each failure."""

import base64
import os
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio
import structlog
from pydantic import BaseModel, JsonValue

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost import channel_wire as wire
from orchestrator.channelhost.foreign_channel import ForeignChannel
from thinker.protocol.liveness import answer_pings
from thinker.protocol.methods import Ready
from thinker.protocol.peer import Params, Peer, RequestHandler, RpcError
from thinker.protocol.sandbox import SandboxReport

CALL_SECONDS = 50.0  # seconds for one call; the supervisor gives up after 60
CLOSE_SECONDS = 1.0  # seconds for connections to be closed in order
STORE_SECONDS = 60.0  # seconds for the supervisor to store messages
FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0  # seconds before the channel is restarted
UNKNOWN = SendOutcome.UNKNOWN
M = TypeVar("M", bound=BaseModel)
log = structlog.get_logger()


class ChannelHost:
    """Serves the supervisor on one socket, and is the `ChannelInbox` of its channel."""

    def __init__(self, channel: ForeignChannel, sandbox: SandboxReport) -> None:
        self._channel = channel
        self._sandbox = sandbox
        self._peer: Peer | None = None
        self._state = wire.ChannelState(state="starting")
        self._failures = 0
        self.requests: dict[str, RequestHandler] = {
            wire.SEND: _handle(wire.OutgoingMessage, self._send_message),
            wire.EDIT: _handle(wire.OutgoingMessage, channel.edit),
            wire.REMOVE: _handle(wire.MessageName, channel.remove),
            wire.TYPING: _handle(wire.MessageName, channel.show_typing),
            wire.DOWNLOAD: _handle(wire.WantedDownload, self._download_file),
        }

    async def serve_peer(self, peer: Peer) -> None:
        """Run the channel and answer until the socket closes."""
        self._peer = peer
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_receiving)
                ready = Ready(pid=os.getpid(), provider="", model="", sandbox=self._sandbox)
                await answer_pings(peer, ready)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await self._channel.close()

    # --- the channel's inbox ----------------------------------------------------------------------

    async def load_cursor(self) -> str:
        found = await self._call_supervisor(wire.CURSOR)
        return wire.ChannelCursor.model_validate(found).cursor

    async def store_cursor(self, cursor: str) -> None:
        await self.store_messages((), cursor)

    async def store_messages(self, messages: Sequence[wire.ReceivedMessage], cursor: str) -> None:
        """Store messages in as many batches as needed; the last one moves the cursor."""
        before = await self.load_cursor() if len(messages) > wire.MAX_BATCH else ""
        for start in range(0, len(messages) or 1, wire.MAX_BATCH):
            batch = tuple(messages[start : start + wire.MAX_BATCH])
            last = start + wire.MAX_BATCH >= len(messages)
            params = wire.ReceivedBatch(messages=batch, cursor=cursor if last else before)
            await self._call_supervisor(wire.ACCEPT, params)

    def report_receiving(self) -> None:
        self._failures = 0
        self._report_state(wire.ChannelState(state="ok"))

    async def _call_supervisor(self, method: str, params: Params = None) -> JsonValue:
        if self._peer is None:
            raise RuntimeError("the channel runs without a supervisor")
        return await self._peer.request(method, params, timeout=STORE_SECONDS)

    def _report_state(self, state: wire.ChannelState) -> None:
        if state != self._state and self._peer is not None:
            self._state = state
            self._peer.notify(wire.STATE, state)

    async def _keep_receiving(self) -> None:
        while True:
            try:
                await self._channel.run(self)
                pause = self._report_failure("the connection ended")
            except SendError as error:
                pause = self._report_failure(str(error), error.retry_after)
            except (RpcError, TimeoutError) as error:
                why = str(error) or "no answer"
                pause = self._report_failure(f"messages cannot be stored: {why}")
            except Exception as error:  # the library may raise anything
                log.debug("channel_failed", exc_info=True)
                pause = self._report_failure(f"{type(error).__name__}: {error}")
            await anyio.sleep(pause)

    def _report_failure(self, problem: str, retry_after: float | None = None) -> float:
        """Report a failure, and return the seconds before the next try."""
        self._failures += 1
        self._report_state(wire.ChannelState(state="degraded", detail=problem[:1000]))
        longest = min(MAX_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures - 1, 6))
        spread = random.uniform(0.5, 1)  # noqa: S311 - spreads out clients, no secret
        return retry_after if retry_after is not None else longest * spread

    # --- requests of the supervisor ---------------------------------------------------------------

    async def _send_message(self, message: wire.OutgoingMessage) -> wire.CallReport:
        return wire.CallReport(message_id=await self._channel.send(message))

    async def _download_file(self, file: wire.WantedDownload) -> wire.CallReport:
        limit = min(file.limit, wire.MAX_SENT_FILE)
        data = await self._channel.download(file.handle, limit)
        if len(data) > limit:
            raise SendError(f"the file is over {limit} bytes", SendOutcome.PERMANENT)
        return wire.CallReport(data=base64.b64encode(data).decode())


def _handle(
    model: type[M], call: Callable[[M], Awaitable[wire.CallReport | None]]
) -> RequestHandler:
    """Return a handler that calls the foreign library, and reports its result or failure."""

    async def call_library(params: JsonValue) -> wire.CallReport:
        message = model.model_validate(params)
        try:
            with anyio.fail_after(CALL_SECONDS):
                return await call(message) or wire.CallReport()
        except SendError as error:
            outcome, problem, retry_after = error.outcome, str(error), error.retry_after
        except TimeoutError:
            outcome, problem, retry_after = UNKNOWN, "the platform did not answer", None
        except Exception as error:  # as in `_keep_receiving`
            log.debug("call_failed", exc_info=True)
            outcome, problem, retry_after = UNKNOWN, f"{type(error).__name__}: {error}"[:1000], None
        return wire.CallReport(outcome=outcome, problem=problem, retry_after=retry_after)

    return call_library
