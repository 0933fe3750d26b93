"""The fake Bot API with faults on command, a record of its calls, and waits for what they do."""

from collections import defaultdict, deque
from dataclasses import dataclass

import anyio
from fakes.time_limit import time_limit

from orchestrator.extensions.selftest.crash.fake_telegram import (
    PREVIEW_MARK,
    BotApiServer,
    build_error_body,
)
from orchestrator.testing.loopback import ForeignJson

OK = 200


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
UPGRADED = "Bad Request: group chat was upgraded to a supergroup chat"
LOST_ANSWER = Fault(drop="after")
LOST_REQUEST = Fault(drop="before")
HANG = Fault(hang=True)


def too_many(retry_after: int) -> Fault:
    """Return a 429 that asks to wait ``retry_after`` seconds."""
    return Fault(429, "Too Many Requests", {"retry_after": retry_after})


class FakeBotApi(BotApiServer):
    """``async with FakeBotApi(token) as server`` serves at ``server.url``."""

    def __init__(self, token: str, username: str = "test_bot") -> None:
        super().__init__(token, username)
        self.ledger: list[BotApiCall] = []
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._seen: dict[int, set[int]] = defaultdict(set)
        self._moved: dict[int, int] = {}

    def update(self, number: int) -> ForeignJson:
        """Return an update by its number."""
        return self._updates[number]

    def user_edits(self, chat_id: int, message_id: int, text: str, date: int) -> int:
        """Edit a message as a person and return the update's number."""
        fields = {"message_id": message_id, "edit_date": date}
        return self.queue_update({"edited_message": self._build_message(chat_id, text, fields)})

    def user_deletes(self, chat_id: int, message_id: int) -> None:
        """Delete one of the bot's messages as a person."""
        del self._visible[chat_id][message_id]

    def becomes_supergroup(self, old: int, new: int, *fields: str) -> None:
        """Give a group a new number; people and the bot can write to that alone.

        Of the two service messages (``migrate_to_chat_id``, ``migrate_from_chat_id``) only those
        in ``fields`` are sent.
        """
        self._moved[old] = new
        if "migrate_to_chat_id" in fields:
            self.send_user_message(old, None, migrate_to_chat_id=new)
        if "migrate_from_chat_id" in fields:
            self.send_user_message(new, None, migrate_from_chat_id=old)

    def break_next(self, method: str, *faults: Fault) -> None:
        """Let the next calls of ``method`` fail, one fault each, in order."""
        self._faults[method].extend(faults)

    def calls(self, method: str) -> list[BotApiCall]:
        """Return the calls of one method, in the order in which they ended."""
        return [call for call in self.ledger if call.method == method]

    async def called(self, method: str, times: int = 1) -> None:
        """Wait until ``method`` was called ``times`` times, with any outcome."""
        with time_limit():
            while len(self.calls(method)) < times:
                await self.wait_for_change()

    async def shows(self, chat_id: int, text: str) -> None:
        """Wait until a chat has a message with exactly this text."""
        with time_limit():
            while text not in self.list_texts(chat_id):
                await self.wait_for_change()

    def last_number(self, chat_id: int) -> int:
        """Return the number of the bot's last message in a chat."""
        return max(self._visible[chat_id])

    async def confirmed(self) -> None:
        """Wait until every update is confirmed by an offset."""
        with time_limit():
            while self.unconfirmed_updates:
                await self.wait_for_change()

    async def reply_in(self, chat_id: int) -> str:
        """Wait for the next final text in a chat; each message is returned once.

        A text that ends with `PREVIEW_MARK` is not final.
        """
        seen = self._seen[chat_id]
        with time_limit():
            while True:
                for message_id, text in self._visible[chat_id].items():
                    if message_id not in seen and not text.endswith(PREVIEW_MARK):
                        seen.add(message_id)
                        return text
                await self.wait_for_change()

    async def answer_request(self, path: str, params: ForeignJson) -> tuple[int, bytes]:
        """Answer as the next fault of the method says, or without one as the Bot API does."""
        method = path.rpartition("/")[2]
        fault = self._faults[method].popleft() if self._faults[method] else Fault()
        await anyio.sleep(fault.delay)
        if fault.hang or fault.drop == "before":
            self._record(method, params, done=False, status=0)
            await anyio.sleep(float("inf") if fault.hang else 0)
            raise anyio.EndOfStream
        if not fault.status and (moved := self._moved.get(params.get("chat_id", 0))):
            fault = Fault(400, UPGRADED, {"migrate_to_chat_id": moved})
        if not fault.status:
            status, answer = await super().answer_request(path, params)
        elif fault.description is None:
            status, answer = fault.status, b"<html>no Bot API here</html>"
        else:
            status = fault.status
            answer = build_error_body(status, fault.description, fault.parameters)
        dropped = fault.drop == "after"
        self._record(method, params, done=status == OK, status=0 if dropped else status)
        if dropped:
            raise anyio.EndOfStream
        return status, answer

    def _record(self, method: str, params: ForeignJson, *, done: bool, status: int) -> None:
        self.ledger.append(BotApiCall(method, params, done, status))
        self.changes.wake()
