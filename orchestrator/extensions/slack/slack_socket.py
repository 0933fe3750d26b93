"""Socket Mode: receive events over connections that replace one another."""

import json
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
import anyio
import structlog
from anyio.abc import TaskGroup, TaskStatus
from pydantic import ValidationError

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.extensions.slack.slack_api import SlackApi
from orchestrator.extensions.slack.slack_events import SlackMessage, SlackObject

WAITING = 1000  # envelopes that wait to be stored
HELLO_SECONDS = 30.0
RENEWED = ("warning", "refresh_requested")  # Slack will soon close the connection
SWITCHED_OFF = "link_disabled"
LOST = "Slack has closed the connection"
OFF = "Socket Mode of the Slack app is off; switch it on in the app's settings"
log = structlog.get_logger()


class _Payload(SlackObject):
    event: SlackMessage = SlackMessage()


class _Envelope(SlackObject):
    """A frame of Slack, with an ``envelope_id`` if it needs acknowledgement."""

    type: str = ""
    envelope_id: str = ""
    reason: str = ""
    payload: _Payload = _Payload()


@dataclass(frozen=True)
class SlackDelivery:
    """An event, which Slack repeats unless it is acknowledged on its connection."""

    event: SlackMessage
    envelope_id: str
    socket: aiohttp.ClientWebSocketResponse

    async def acknowledge(self) -> None:
        """Acknowledge that the event is stored; useless on a closed connection."""
        with suppress(ConnectionError):
            await self.socket.send_json({"envelope_id": self.envelope_id})


class SocketMode:
    """Listens in ``tasks``; ``deliveries`` has the events in order."""

    def __init__(self, api: SlackApi, tasks: TaskGroup) -> None:
        self._api = api
        self._tasks = tasks
        self._heard, self.deliveries = anyio.create_memory_object_stream[SlackDelivery](WAITING)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._heard.close()
        self.deliveries.close()

    async def begin_session(self) -> None:
        """Connect, and return once Slack sends new events.

        Raises:
            SendError: Slack does not answer.
        """
        try:
            with anyio.fail_after(HELLO_SECONDS):
                await self._tasks.start(self._listen_to_connection)
        except TimeoutError as error:
            raise SendError("Slack did not confirm the connection", SendOutcome.NOT_SENT) from error

    async def _listen_to_connection(
        self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Pass on a connection's events; before it closes, a second one listens as well."""
        followed = False
        async with self._api.open_socket() as socket:
            async for part in socket:
                said = _parse_envelope(part)
                if said.type == "hello":
                    task_status.started()
                elif said.type == "disconnect":
                    _check_reason(said.reason)
                    if not followed:
                        self._tasks.start_soon(self._listen_to_connection)
                        followed = True
                elif said.envelope_id:
                    heard = SlackDelivery(said.payload.event, said.envelope_id, socket)
                    await self._heard.send(heard)
        if not followed:
            raise SendError(LOST, SendOutcome.NOT_SENT)


def _check_reason(reason: str) -> None:
    """Raise `SendError` unless another connection may follow immediately."""
    if reason not in RENEWED:
        words = OFF if reason == SWITCHED_OFF else f"{LOST}: {reason}"
        raise SendError(words, SendOutcome.NOT_SENT)


def _parse_envelope(part: aiohttp.WSMessage) -> _Envelope:
    """Parse a frame. Of an unreadable frame, keep only the acknowledgement id."""
    try:
        said = json.loads(part.data) if part.type is aiohttp.WSMsgType.TEXT else {}
    except ValueError:
        return _Envelope()
    try:
        return _Envelope.model_validate(said)
    except ValidationError:
        log.warning("slack_event_unreadable")
        envelope_id = said.get("envelope_id") if isinstance(said, dict) else ""
        return _Envelope(envelope_id=str(envelope_id or ""))
