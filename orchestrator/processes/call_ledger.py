"""What the model calls of one worker used, as the broker counted them.

A worker names its calls in the steps and answers that it hands over, and the broker's figures
replace its own. A call that it does not name is booked by itself, when the work that can have made
it has ended: a repeated or cut call, or one that the worker keeps to itself.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar, cast

from orchestrator.broker.broker_wire import CallEnded
from thinker.protocol.background import Embedded, MeteredResult
from thinker.protocol.methods import StepCommit
from thinker.protocol.peer import PeerClosedError

MOST_LEFT = 16  # canceled works whose calls may still be reported
LATE = 1.0  # seconds to wait for the broker's report of a call that a worker names
TOO_LITTLE = 2  # times as much as a worker says may be estimated before the estimate counts
Counted = TypeVar("Counted", bound=StepCommit | MeteredResult)


class BookOfCalls(Protocol):
    """Takes a turn's id or a job's name, a call, and whether the worker died meanwhile."""

    def __call__(self, work: str, call: CallEnded, *, died: bool) -> None: ...


@dataclass
class _Ended:
    """A call that has ended, and the works that may still name it."""

    call: CallEnded
    works: set[str]


class _Left(NamedTuple):
    """A canceled work, and the time in which it could make calls."""

    name: str
    began: float
    ended: float


@dataclass(eq=False)
class CallLedger:
    """The calls of one worker; ``book`` takes those not named, each work calls ``began``.

    ``clock`` returns seconds.
    """

    book: BookOfCalls
    began: Callable[[], None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    works: list[str] = field(default_factory=list)  # turns and jobs that run
    _died: list[str] = field(default_factory=list)  # works that the worker's death ended
    _left: deque[_Left] = field(default_factory=lambda: deque(maxlen=MOST_LEFT))
    _ended: list[_Ended] = field(default_factory=list)
    _awaited: dict[str, asyncio.Future[None]] = field(default_factory=dict)

    @contextmanager
    def work(self, name: str) -> Iterator[None]:
        """Let calls that end inside the block belong to this work, if they are not another's."""
        began = self.clock()
        self.works.append(name)
        self.began()
        try:
            yield
        except PeerClosedError:
            self._died.append(name)
            raise
        except asyncio.CancelledError:  # its worker is told to leave it, which cuts a call off
            self._left.append(_Left(name, began, self.clock()))
            raise
        finally:
            self.works.remove(name)
            for ended in self._ended:
                ended.works.discard(name)
            self._book_all(name)

    def report(self, call: CallEnded) -> None:
        """Take what the broker says about a call that has ended."""
        if call.cut and (left := self._canceled(self.clock() - call.seconds)) is not None:
            self.book(left, call, died=False)
            return
        self._ended.append(_Ended(call, set(self.works)))
        waiting = self._awaited.get(call.call_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
        elif not self.works:
            self._book_all(self._died[0] if self._died else "")

    async def counted(self, result: Counted) -> Counted:
        """Return a step or an answer with the broker's figures instead of the worker's."""
        calls = [call for name in result.call_ids for call in await self._named(name)]
        if not calls:
            return result
        usage = sum((call.usage for call in calls[1:]), calls[0].usage)
        guessed = any(call.estimated for call in calls)
        if guessed and usage.total < TOO_LITTLE * result.usage.total:
            return result  # the worker has seen the text
        model = calls[-1].model or result.model
        update: dict[str, object] = {"usage": usage}
        if not isinstance(result, Embedded):  # whose model names its vectors
            update["model"] = model
        return cast("Counted", result.model_copy(update=update))

    async def _named(self, call_id: str) -> Sequence[CallEnded]:
        """Take the calls of this name; wait a moment for the first."""
        if not self._has(call_id):
            waiting = self._awaited[call_id] = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(LATE):
                    await waiting
            except TimeoutError:
                return ()
            finally:
                del self._awaited[call_id]
        named = [ended.call for ended in self._ended if ended.call.call_id == call_id]
        self._ended = [ended for ended in self._ended if ended.call.call_id != call_id]
        return named

    def _canceled(self, began: float) -> str | None:
        """Return the canceled work that made the call which began then; None if none can have."""
        found = (left for left in reversed(self._left) if left.began <= began <= left.ended)
        left = next(found, None)
        if left is None:
            return None
        self._left.remove(left)
        return left.name

    def _has(self, call_id: str) -> bool:
        return any(ended.call.call_id == call_id for ended in self._ended)

    def _book_all(self, work: str) -> None:
        """Book the calls that no work can name any more."""
        for ended in self._ended:
            if not ended.works:
                died = work in self._died
                if died:
                    self._died.remove(work)  # one call under way at most
                self.book(work, ended.call, died=died)
        self._ended = [ended for ended in self._ended if ended.works]
