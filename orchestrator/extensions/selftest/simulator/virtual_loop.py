"""An event loop whose clock jumps ahead when nothing else is to be done."""

import asyncio
import inspect
import selectors
from asyncio import _set_running_loop
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from types import CoroutineType
from typing import Any

from orchestrator.extensions.channel_folders.testing.anyio_context import make_anyio_context

SHORTEST = 1e-6  # seconds of a wait: what rounding leaves of one would be waited for without end
NOTHING_LEFT = "no task can go on and no time is awaited"
MAX_STEPS = 300_000  # of a loop at the same time; a history has some hundreds
SPINS = "the tasks go on without end, and no time passes"


class StuckError(Exception):
    """Every task waits for another one, or some go on at the same time without end."""


class VirtualTask(asyncio.Task[Any]):
    """A task with a number, so that its place in a set is the same in each run."""

    _log_destroy_pending: bool

    def __init__(
        self,
        number: int,
        coroutine: Coroutine[Any, Any, Any],
        loop: asyncio.AbstractEventLoop,
        **options: Any,  # noqa: ANN401 - those of a task
    ) -> None:
        self._number = number
        super().__init__(coroutine, loop=loop, **options)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other

    def abandon(self) -> None:
        """Throw the task away where it waits."""
        self._log_destroy_pending = False
        coroutine = self.get_coro()
        for unstarted in _find_unstarted(coroutine):
            unstarted.close()
        with suppress(BaseException):
            if coroutine is not None:
                coroutine.close()


class _NoFiles(selectors.BaseSelector):
    """Waits by setting the clock; no file is ever ready."""

    def __init__(self, wait: Callable[[float | None], None]) -> None:
        self._wait = wait
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(
        self,
        fileobj: Any,  # noqa: ANN401 - as in the base class
        events: int,
        data: Any = None,  # noqa: ANN401 - as in the base class
    ) -> selectors.SelectorKey:
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        self._keys[fileobj] = selectors.SelectorKey(fileobj, number, events, data)
        return self._keys[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401 - as above
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._wait(timeout)
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that begins at ``now`` (seconds) and never waits for real.

    ``numbers`` are those of its tasks: equal ones of two loops make sets slow.

    ``problems`` are what no task caught. ``committing`` says that the running step is a commit.
    """

    _ready: Iterable[asyncio.Handle]
    _scheduled: Iterable[asyncio.TimerHandle]

    def __init__(self, now: float, numbers: Iterator[int]) -> None:
        self._now = now
        self._steps = 0  # since time has passed
        self._numbers = numbers
        self.killed = False
        self.committing = False
        self.problems: list[dict[str, Any]] = []
        super().__init__(_NoFiles(self._advance_time))
        self.set_task_factory(self._make_task)
        self.set_exception_handler(lambda _, context: self.problems.append(context))

    def time(self) -> float:
        return self._now

    def _advance_time(self, seconds: float | None) -> None:
        if seconds is None:
            raise StuckError(NOTHING_LEFT)
        self._steps += 1
        if seconds:
            self._steps, self._now = 0, self._now + max(seconds, SHORTEST)
        elif self._steps == MAX_STEPS:
            raise StuckError(SPINS)

    def _make_task(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Any,  # noqa: ANN401 - the factory's protocol is wider than coroutines
        **options: Any,  # noqa: ANN401 - those of a task
    ) -> VirtualTask:
        return VirtualTask(next(self._numbers), coroutine, loop, **options)

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        """Run ``main`` to its end, or until `kill`; then throw away what is left.

        Raises:
            StuckError: every task waits for another one, or no time passes.
            Exception: raised by ``main``.
        """
        task = self.create_task(main, context=make_anyio_context())
        task.add_done_callback(lambda _: self.stop())
        try:
            self.run_forever()
            if not self.killed:
                task.result()
        finally:
            make_anyio_context().run(self._abandon_tasks)
            self.close()

    def _abandon_tasks(self) -> None:
        """Throw away every task, also those that others begin as they end."""
        _set_running_loop(self)  # as while the loop ran
        try:
            gone = set[asyncio.Task[Any]]()
            while left := asyncio.all_tasks(self) - gone:
                gone |= left
                for task in left:
                    if isinstance(task, VirtualTask):
                        task.abandon()
        finally:
            _set_running_loop(None)

    def kill(self) -> None:
        """End as a process ends at SIGKILL: nothing runs after the step that runs now.

        That step still reaches its next wait, which is all that a caller must guard.
        """
        self.killed = True
        for handle in (*self._ready, *self._scheduled):
            handle.cancel()
        self.stop()


def _find_unstarted(coroutine: object) -> list[Coroutine[Any, Any, Any]]:
    """Return the coroutine that anyio would have awaited in one that has not begun."""
    if (
        not isinstance(coroutine, CoroutineType)
        or inspect.getcoroutinestate(coroutine) != inspect.CORO_CREATED
    ):
        return []
    handles = inspect.getcoroutinelocals(coroutine).values()
    found = (getattr(handle, "coro", None) for handle in handles)
    return [inner for inner in found if isinstance(inner, CoroutineType)]
