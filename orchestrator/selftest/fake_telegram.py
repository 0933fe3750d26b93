"""A fake of Telegram's Bot API on loopback: real HTTP and long polling, faults on command."""

import json
from collections import defaultdict, deque
from dataclasses import dataclass

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from orchestrator.selftest.bot_world import BotWorld, RefusedError
from orchestrator.selftest.loopback import ForeignJson, LoopbackServer, request, response

PREVIEW_MARK = "…"  # a text that ends with it counts as a preview of a longer one
PATIENCE = 120.0  # default limit of waits, in seconds; long because test machines are busy
_DONE = 200


@dataclass(frozen=True)
class BotApiCall:
    """One request and its outcome.

    ``done`` says whether it had its effect; ``status`` is the HTTP status, 0 without an answer.
    """

    method: str
    params: ForeignJson
    done: bool
    status: int


@dataclass(frozen=True)
class Fault:
    """A fault of one call.

    Args:
        status: HTTP status to answer with; the call has no effect.
        description: text that goes with ``status``; None sends a body that is not JSON.
        parameters: object that goes with ``status`` (``retry_after``, ``migrate_to_chat_id``).
        delay: seconds to wait before anything else happens.
        drop: close the connection unanswered, ``"before"`` or ``"after"`` the call's effect.
        hang: never answer; the call has no effect.
    """

    status: int = 0
    description: str | None = "Internal Server Error"
    parameters: ForeignJson | None = None
    delay: float = 0.0
    drop: str = ""
    hang: bool = False


CONFLICT = Fault(409, "Conflict: terminated by other getUpdates request")
BLOCKED = Fault(403, "Forbidden: bot was blocked by the user")
UNAUTHORIZED = Fault(401, "Unauthorized")
LOST_ANSWER = Fault(drop="after")
LOST_REQUEST = Fault(drop="before")
HANG = Fault(hang=True)


def too_many(retry_after: int) -> Fault:
    """Return a 429 that asks to wait ``retry_after`` seconds."""
    return Fault(429, "Too Many Requests", {"retry_after": retry_after})


class BotApiServer(BotWorld, LoopbackServer):
    """``async with BotApiServer(token) as server`` serves at ``server.url``."""

    def __init__(self, token: str, username: str = "test_bot") -> None:
        super().__init__(token, username)
        self.token = token
        self.ledger: list[BotApiCall] = []
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._seen: dict[int, set[int]] = defaultdict(set)

    def break_next(self, method: str, *faults: Fault) -> None:
        """Let the next calls of ``method`` fail, one fault each, in order."""
        self._faults[method].extend(faults)

    def calls(self, method: str) -> list[BotApiCall]:
        """Return the calls of one method, in the order in which they ended."""
        return [call for call in self.ledger if call.method == method]

    async def called(self, method: str, times: int = 1, within: float = PATIENCE) -> None:
        """Wait until ``method`` was called ``times`` times, with any outcome.

        Raises:
            TimeoutError: it was not ``within`` so many seconds.
        """
        with anyio.fail_after(within):
            while len(self.calls(method)) < times:
                await self._change()

    async def confirmed(self, within: float = PATIENCE) -> None:
        """Wait until every update is confirmed by an offset.

        Raises:
            TimeoutError: they are not ``within`` so many seconds.
        """
        with anyio.fail_after(within):
            while self.unconfirmed:
                await self._change()

    async def reply_in(self, chat_id: int, within: float = PATIENCE) -> str:
        """Wait for the next final text in a chat; each message is returned once.

        A text that ends with `PREVIEW_MARK` is not final.

        Raises:
            TimeoutError: none came ``within`` so many seconds.
        """
        seen = self._seen[chat_id]
        with anyio.fail_after(within):
            while True:
                for message_id, text in self._visible[chat_id].items():
                    if message_id not in seen and not text.endswith(PREVIEW_MARK):
                        seen.add(message_id)
                        return text
                await self._change()

    async def _serve(self, stream: SocketStream) -> None:
        """Serve one connection until the client or a fault ends it."""
        received = BufferedByteReceiveStream(stream)
        try:
            async with stream:
                while True:
                    status, answer = await self._answer(*await request(received))
                    if not status:
                        return
                    await stream.send(response(status, answer))
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            return

    async def _answer(self, path: str, params: ForeignJson) -> tuple[int, bytes]:
        """Return status and body; status 0 ends the connection."""
        prefix, _, method = path.rpartition("/")
        fault = self._faults[method].popleft() if self._faults[method] else Fault()
        await anyio.sleep(fault.delay)
        if fault.hang or fault.drop == "before":
            self._record(method, params, done=False, status=0)
            await anyio.sleep(float("inf") if fault.hang else 0)
            return 0, b""
        status, answer = fault.status, _error(fault.status, fault.description, fault.parameters)
        if not status:
            status, answer = await self._perform(prefix, method, params)
        done = status == _DONE
        if fault.drop == "after":
            status = 0
        self._record(method, params, done=done, status=status)
        return status, answer

    async def _perform(self, prefix: str, method: str, params: ForeignJson) -> tuple[int, bytes]:
        if prefix == f"/file/bot{self.token}/files" and method in self.files:
            return 200, self.files[method]
        if prefix != f"/bot{self.token}":
            return 401, _error(401, "Unauthorized", None)
        if method not in self._methods:
            return 404, _error(404, "Not Found", None)
        try:
            result = await self._methods[method](params)
        except RefusedError as error:
            return error.code, _error(error.code, str(error), None)
        except ValueError:
            return 400, _error(400, "Bad Request: chat not found", None)
        return 200, json.dumps({"ok": True, "result": result}).encode()

    def _record(self, method: str, params: ForeignJson, *, done: bool, status: int) -> None:
        self.ledger.append(BotApiCall(method, params, done, status))
        self._notify()


def _error(status: int, description: str | None, parameters: ForeignJson | None) -> bytes:
    if description is None:
        return b"<html>no Bot API here</html>"
    answer: ForeignJson = {"ok": False, "error_code": status, "description": description}
    if parameters:
        answer["parameters"] = parameters
    return json.dumps(answer).encode()
