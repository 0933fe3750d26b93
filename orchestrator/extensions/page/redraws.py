"""Decide when an open window is redrawn: when what it shows has changed, and at what cost.

A screen names what it shows by a `Stamp`, which is cheap to read. A window takes a small share of a
processor on average; it saves some of it for changes that are to be seen at once.

Where: is the page kept from taking the processor?
"""

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.control.roles import Right
from orchestrator.errors import OrchestratorError, QueryTimeoutError
from orchestrator.extensions.page.reads import waiting
from orchestrator.extensions.page.screen_request import (
    EACH_COMMIT,
    PageScreen,
    ScreenRequest,
    Stamp,
)
from orchestrator.journal.engine import PageReads

RUN = secrets.token_hex(4)  # numbers of changes count for one process
HOUR = 3_600_000  # milliseconds, after which times on a screen are old
SHARE = 0.025  # of a processor that one window takes on average
SHARE_OF_ALL = 0.15  # that all windows take together
SAVED_SECONDS = 20.0  # of a share that is saved for what is seen at once
MAX_WINDOWS = 256  # whose costs are remembered


class RedrawMark(NamedTuple):
    """What a window shows, as two values: of what is seen at once, and of all."""

    soon: str
    whole: str


@dataclass
class RedrawPace:
    """The time of a processor that was taken for redrawing; ``clock`` returns seconds."""

    clock: Callable[[], float]
    share: float
    paid_at: float = 0.0  # when the redraws so far have used up no more than their share

    def charge(self, seconds: float) -> None:
        self.paid_at = max(self.paid_at, self.clock()) + seconds / self.share

    def find_wait(self, *, soon: bool) -> float:
        """Return the seconds until the next redraw, of a change to be seen ``soon`` or later."""
        return self.paid_at - self.clock() - (SAVED_SECONDS if soon else 0.0)


class RedrawPaces:
    """The paces of all windows; one of a session and address has one pace."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all = RedrawPace(clock, SHARE_OF_ALL)
        self._windows: OrderedDict[tuple[str, str], RedrawPace] = OrderedDict()

    def charge(self, digest: str, at: str, seconds: float) -> None:
        """Note what a redraw has taken of a processor."""
        self._all.charge(seconds)
        self._find_pace(digest, at).charge(seconds)

    def find_wait(self, digest: str, at: str, *, soon: bool) -> float:
        """Return the seconds until a window may be redrawn; not above 0 if it may now."""
        own = self._find_pace(digest, at)
        return max(own.find_wait(soon=soon), self._all.find_wait(soon=soon))

    def _find_pace(self, digest: str, at: str) -> RedrawPace:
        key = digest, at
        pace = self._windows.setdefault(key, RedrawPace(self._clock, SHARE))
        self._windows.move_to_end(key)
        while len(self._windows) > MAX_WINDOWS:
            self._windows.popitem(last=False)
        return pace


@dataclass
class MarkReader:
    """Reads the marks of screens; ``version`` returns the journal's, ``outside`` counts others."""

    journal: PageReads
    version: Callable[[], int]
    outside: Callable[[], int]
    _badge: tuple[int, int] = field(default=(-1, 0), init=False)  # and the version it is of

    async def read_mark(self, screen: PageScreen, request: ScreenRequest) -> RedrawMark:
        """Return what a session's window of a screen shows now."""
        try:
            stamp = await screen.stamp(request) if screen.stamp else Stamp()
        except OrchestratorError:  # it is read again at the next change
            stamp = Stamp()
        later = self.version() if stamp.later is EACH_COMMIT else stamp.later
        soon = _hash(RUN, stamp.soon, self.outside(), self.count_waiting(request))
        whole = _hash(soon, later, request.now // HOUR, request.digest, request.at)
        return RedrawMark(soon, whole)

    def count_waiting(self, request: ScreenRequest) -> int:
        """Return how many things wait for the viewer; once for each state of the journal."""
        if not request.has_right(Right.DECIDE):
            return 0
        version = self.version()
        if self._badge[0] != version:
            try:
                found = self.journal.read_now(waiting.count_waiting_items, request.now)
            except QueryTimeoutError:
                found = self._badge[1]
            self._badge = version, found
        return self._badge[1]


def _hash(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:24]
