"""Run one foreign channel for the supervisor: receive, send, and restart after each failure."""

import base64
import os
import random
from collections.abc import Awaitable, Callable, Sequence

import anyio
import structlog
from pydantic import JsonValue

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
            wire.SEND: self._send_message,
            wire.EDIT: self._edit_message,
            wire.REMOVE: self._remove_message,
            wire.TYPING: self._show_typing,
            wire.DOWNLOAD: self._download_file,
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

    # --- what the channel is given ---------------------------------------------------------------

    async def load_cursor(self) -> str:
        found = await self._ask_supervisor(wire.CURSOR)
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
            await self._ask_supervisor(wire.ACCEPT, params)

    def report_receiving(self) -> None:
        self._failures = 0
        self._report_state(wire.ChannelState(state="ok"))

    async def _ask_supervisor(self, method: str, params: Params = None) -> JsonValue:
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
                pause = self._report_failure(
                    f"messages cannot be stored: {str(error) or 'no answer'}"
                )
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

    # --- what the supervisor asks ----------------------------------------------------------------

    async def _send_message(self, params: JsonValue) -> wire.CallReport:
        message = wire.OutgoingMessage.model_validate(params)

        async def send_message() -> wire.CallReport:
            return wire.CallReport(message_id=await self._channel.send(message))

        return await call_library(send_message)

    async def _edit_message(self, params: JsonValue) -> wire.CallReport:
        message = wire.OutgoingMessage.model_validate(params)
        return await call_library(lambda: run_without_result(self._channel.edit(message)))

    async def _remove_message(self, params: JsonValue) -> wire.CallReport:
        message = wire.MessageName.model_validate(params)
        return await call_library(lambda: run_without_result(self._channel.remove(message)))

    async def _show_typing(self, params: JsonValue) -> wire.CallReport:
        chat = wire.MessageName.model_validate(params)
        return await call_library(lambda: run_without_result(self._channel.show_typing(chat)))

    async def _download_file(self, params: JsonValue) -> wire.CallReport:
        file = wire.FileName.model_validate(params)

        async def download_file() -> wire.CallReport:
            limit = min(file.limit, wire.MAX_SENT_FILE)
            data = await self._channel.download(file.handle, limit)
            if len(data) > limit:
                raise SendError(f"the file is over {limit} bytes", SendOutcome.PERMANENT)
            return wire.CallReport(data=base64.b64encode(data).decode())

        return await call_library(download_file)


async def run_without_result(work: Awaitable[None]) -> wire.CallReport:
    await work
    return wire.CallReport()


async def call_library(call: Callable[[], Awaitable[wire.CallReport]]) -> wire.CallReport:
    """Call the foreign library; return its result, or the meaning of its failure."""
    try:
        with anyio.fail_after(CALL_SECONDS):
            return await call()
    except SendError as error:
        return wire.CallReport(
            outcome=error.outcome, problem=str(error), retry_after=error.retry_after
        )
    except TimeoutError:
        problem = "the platform did not answer"
        return wire.CallReport(outcome=SendOutcome.UNKNOWN, problem=problem)
    except Exception as error:  # as in `_keep_receiving`
        log.debug("call_failed", exc_info=True)
        problem = f"{type(error).__name__}: {error}"[:1000]
        return wire.CallReport(outcome=SendOutcome.UNKNOWN, problem=problem)
