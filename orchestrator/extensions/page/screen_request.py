"""A request for a screen, and the definition of a screen."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar
from zoneinfo import ZoneInfo

import htpy
from pydantic import BaseModel
from starlette.responses import Response

from orchestrator.control.roles import ROLES, Right
from orchestrator.extensions.page.page_wire import ScreenLink

EACH_COMMIT = "each commit"
OWN = "web/local/"  # how the keys of the page's own chats begin
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class TitledContent(NamedTuple):
    """The content of a screen with its own title.

    ``lead`` stands beside the title and ``actions`` at the right of it. The parts of a ``split``
    content scroll by themselves; otherwise all of it scrolls. ``writes`` says that it has a
    composer, and ``follows`` that the answer to a form changes as the screen does without it.
    """

    title: str
    content: htpy.Node
    lead: htpy.Node = None
    actions: htpy.Node = None
    split: bool = False
    writes: bool = False
    follows: bool = False


# The content of a screen, or another answer: a redirect, a file.
ScreenResult = htpy.Node | TitledContent | Response


@dataclass(frozen=True)
class Viewer:
    """The viewing session, which may write to ``agents``; None means all agents."""

    user: str
    role: str
    agents: tuple[str, ...] | None = None

    @property
    def rights(self) -> frozenset[Right]:
        return ROLES.get(self.role, frozenset())

    def can_see_chat(self, key: str) -> bool:
        """Return whether the session may see the messages of the chat with this key."""
        own = Right.CHAT in self.rights and key.startswith(f"{OWN}{self.user}/")
        return own or Right.READ in self.rights


class JournalView(Protocol):
    """Runs queries on the journal without ever writing to it."""

    async def __call__(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``, which sees one state of the journal.

        Raises:
            QueryTimeoutError: the query took too long.
            JournalError: the journal cannot be read.
        """


class DaemonLink(Protocol):
    """Calls the supervisor."""

    async def ask_daemon(self, method: str, params: BaseModel | None, answer: type[M]) -> M:
        """Call a method for the viewing session.

        Raises:
            RpcError: the supervisor refuses; the error's message says why.
            PeerClosedError, TimeoutError: the outcome is unknown.
        """


@dataclass(frozen=True)
class ScreenRequest:
    """One request. ``now`` is in milliseconds since the epoch; ``once`` makes an id for a form.

    ``form`` has the fields of a form that was sent to the screen; then acts of ``daemon`` count as
    those of this form. It is empty when the screen is only looked at.
    """

    viewer: Viewer
    csrf: str
    at: str  # the path with its query
    path: Mapping[str, str]
    query: Mapping[str, str]
    now: int
    zone: ZoneInfo
    journal: JournalView
    daemon: DaemonLink | None  # None where a journal is shown without a daemon
    once: Callable[[], str]
    form: Mapping[str, str] = field(default_factory=dict)
    growing: Callable[[str], str] = lambda _: ""  # the text so far of a turn's answer
    added: tuple[ScreenLink, ...] = ()  # screens of other extensions
    digest: str = ""  # of the session's token
    seen: str = ""  # the mark of what is shown, see `redraws`

    def has_right(self, right: Right) -> bool:
        return right in self.viewer.rights


class Stamp(NamedTuple):
    """What a screen shows, by values that are cheap to read and differ after each change.

    A change of ``soon`` is shown at once, one of ``later`` when it costs the machine little; by
    default each commit of the journal may be one.
    """

    soon: object = None
    later: object = EACH_COMMIT


@dataclass(frozen=True)
class PageScreen:
    """The screen at one address.

    ``place`` is its navigation entry, ``path`` a starlette route. Without a ``right`` every
    logged-in person may see it. ``from_journal`` says that it changes only with the journal, so a
    browser may cache it until then. ``posts`` says that forms can be sent to its own address.
    ``when_cut`` says what to do on this screen when reading the journal took too long. ``stamp``
    returns what the screen shows now.
    """

    path: str
    title: str
    right: Right | None
    body: Callable[[ScreenRequest], Awaitable[ScreenResult]]
    place: str
    from_journal: bool = True
    posts: bool = False
    when_cut: str = "Reload it; if that does not help, run: orchestrator doctor"
    stamp: Callable[[ScreenRequest], Awaitable[Stamp]] | None = None
