"""An MCP caller, its rights, and one call of a tool."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import anyio
import orjson

from orchestrator.control.roles import ROLES, PageRole, Right
from orchestrator.extensions.mcp_server.rpc_messages import RequestId, build_notification
from thinker.protocol.messages import JsonObject

CHANNEL = "mcp"
OPERATOR, CLIENT = "operator", "client"  # begin the names of chats and the ids of messages
ID_LENGTH = 24  # characters of an id that is made here
MIN_INTERVAL_SECONDS = 1.0  # between two reports of progress
SILENCE_SECONDS = 10.0  # without news after which a client is told that work continues
Send: TypeAlias = Callable[[JsonObject], None]


class McpCaller(NamedTuple):
    """A client with a ``role`` of the page; only operators see all chats.

    Within a ``session``, request ids are unique, so repetitions are recognized; without one they
    are not. ``key`` is the client's own for this request. ``closing`` says that the
    client must have its answer now, as the daemon stops.
    """

    role: PageRole
    session: str = ""
    key: str = ""
    closing: Callable[[], bool] = bool

    @property
    def owner(self) -> str:
        return OPERATOR if self.role == "operator" else CLIENT

    @property
    def own_chats(self) -> str:
        """The prefix of the keys of the caller's own chats, up to a slash."""
        return f"{CHANNEL}/local/{self.owner}/"

    def has_right(self, right: Right) -> bool:
        return right in ROLES[self.role]


class CallProgress:
    """Reports a request's progress to a waiting client, unless it sent no ``token``."""

    def __init__(self, send: Send, token: RequestId | None) -> None:
        self.wanted = token is not None
        self._send, self._token = send, token
        self._count, self._told = 0, anyio.current_time()

    def report_news(self, text: str) -> None:
        """Report news, unless something was just reported."""
        if self.wanted and (
            not self._count or self._count_silent_seconds() >= MIN_INTERVAL_SECONDS
        ):
            self._count, self._told = self._count + 1, anyio.current_time()
            params: JsonObject = {
                "progressToken": self._token,
                "progress": self._count,
                "message": text,
            }
            self._send(build_notification("notifications/progress", params))

    def report_still_working(self, text: str) -> None:
        """Report that work continues, if the client has heard nothing for a while."""
        if self._count_silent_seconds() >= SILENCE_SECONDS:
            self.report_news(text)

    def _count_silent_seconds(self) -> float:
        return anyio.current_time() - self._told


@dataclass
class McpToolCall:
    """A call of a tool; ``asked`` is the id of the message that it sent to an agent, if any."""

    caller: McpCaller
    id: RequestId | None
    name: str
    arguments: JsonObject
    progress: CallProgress
    fresh: Callable[[], str]  # makes an id that no one can guess
    asked: str | None = field(default=None, init=False)

    def build_key(self) -> str:
        """Return an id of this call that is the same for repetitions, as far as possible.

        The id depends on the arguments too: a client that counts its requests anew repeats nothing.
        """
        caller, said = self.caller, [self.name, self.arguments]
        if caller.key:
            known: list[object] = ["key", caller.key, said]
        elif caller.session:
            known = ["session", caller.session, self.id, said]
        else:
            return self.fresh()
        data = orjson.dumps([caller.owner, *known], option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(data).hexdigest()[:ID_LENGTH]


class McpAnswer(NamedTuple):
    """A tool's result: ``texts``, the same as ``data``, and whether the tool failed."""

    texts: tuple[str, ...]
    data: JsonObject
    failed: bool = False

    def build_result(self) -> JsonObject:
        content: list[JsonObject] = [{"type": "text", "text": text} for text in self.texts]
        return {
            "content": [*content],
            "structuredContent": self.data,
            "isError": self.failed,
        }
