"""Limits for strangers: how often they may guess, and how many requests run at a time."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from orchestrator.web.error_response import ApiProblem

FAILURES, WINDOW = 30, 60.0  # wrong tokens within so many seconds, after which others must wait


@dataclass
class WrongTokens:
    """Counts wrong tokens, never the right one, so that its holder cannot be locked out.

    ``what`` names the tokens in messages.
    """

    clock: Callable[[], float] = time.monotonic
    what: str = "tokens"
    _times: deque[float] = field(default_factory=partial(deque, maxlen=FAILURES), init=False)

    def count_wrong_token(self) -> ApiProblem | None:
        """Count a wrong token; return the problem if there were too many recently."""
        now = self.clock()
        if len(self._times) == FAILURES and now - self._times[0] < WINDOW:
            return ApiProblem(
                HTTPStatus.TOO_MANY_REQUESTS, f"too many wrong {self.what}", retry=round(WINDOW)
            )
        self._times.append(now)
        return None


@dataclass
class RequestSlots:
    """Slots for concurrent requests."""

    free: int

    @contextmanager
    def take_slot(self) -> Iterator[bool]:
        """Take a slot during the block; yield whether one was free."""
        got = self.free > 0
        self.free -= got
        try:
            yield got
        finally:
            self.free += got


BUSY = ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, "too many concurrent requests", retry=1)
