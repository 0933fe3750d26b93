"""A request for a screen, and what a screen is."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar
from zoneinfo import ZoneInfo

import htpy
from pydantic import BaseModel
from starlette.responses import Response

from orchestrator.control.page_access import ROLES, Right

OWN = "web/local/"  # how the keys of the page's own chats begin
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class Titled(NamedTuple):
    """The content of a screen with a title of its own: what it shows."""

    title: str
    content: htpy.Node


# The content of a screen, or another answer: a redirect, a file.
Shown = htpy.Node | Titled | Response


@dataclass(frozen=True)
class Visitor:
    """The session that asks. ``agents`` are those it may write to; None stands for all."""

    user: str
    role: str
    agents: tuple[str, ...] | None = None

    @property
    def rights(self) -> frozenset[Right]:
        return ROLES.get(self.role, frozenset())

    def sees(self, key: str) -> bool:
        """Return whether it may see what is said in a chat, by its key in the journal."""
        own = Right.CHAT in self.rights and key.startswith(f"{OWN}{self.user}/")
        return own or Right.READ in self.rights


class JournalView(Protocol):
    """Runs queries on the journal without ever writing to it."""

    async def __call__(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``, which sees one state of the journal.

        Raises:
            TooSlowError: it took more than 250 ms.
            JournalError: the journal cannot be read.
        """


class DaemonLink(Protocol):
    """Asks the supervisor."""

    async def ask(self, method: str, params: BaseModel | None, answer: type[M]) -> M:
        """Call a method for the session that asks.

        Raises:
            RpcError: the supervisor refuses; its message says why.
            PeerClosedError, TimeoutError: it is not known whether it was done.
        """


@dataclass(frozen=True)
class Visit:
    """One request. ``now`` is in milliseconds since the epoch; ``once`` makes ids of forms."""

    visitor: Visitor
    csrf: str
    at: str  # the path with its query
    path: Mapping[str, str]
    query: Mapping[str, str]
    now: int
    zone: ZoneInfo
    journal: JournalView
    daemon: DaemonLink | None  # None where a journal is shown without a daemon
    once: Callable[[], str]
    growing: Callable[[str], str] = lambda _: ""  # the text so far of a turn's answer

    def may(self, right: Right) -> bool:
        return right in self.visitor.rights


@dataclass(frozen=True)
class Screen:
    """What is shown at one address.

    ``place`` is the entry of the navigation that it belongs to, ``path`` a route of starlette.
    Without a ``right`` it is for all who are logged in.
    """

    path: str
    title: str
    right: Right | None
    body: Callable[[Visit], Awaitable[Shown]]
    place: str
