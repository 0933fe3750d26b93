"""A signal stops the daemon whenever it comes."""

import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

import anyio
from fakes.time_limit import time_limit

from orchestrator.system.lifetime import Lifetime


@contextmanager
def received(numbers: Sequence[signal.Signals]) -> Iterator[AsyncIterator[signal.Signals]]:
    """These signals, one after the other."""

    async def each() -> AsyncIterator[signal.Signals]:
        for number in numbers:
            yield number
            await anyio.lowlevel.checkpoint()

    yield each()


async def test_signal_in_the_middle_of_the_start_ends_it() -> None:
    """A start may wait for a file system that does not answer."""
    life = Lifetime()
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                life.follow_signals, lambda: received([signal.SIGTERM]), anyio.sleep_forever
            )
            with life.starting:
                await anyio.sleep_forever()
    assert life.stopping.is_set()
    assert not life.ready.is_set()


async def test_signal_to_stop_is_obeyed_during_a_reload() -> None:
    """The reload is abandoned; it began once the daemon was ready."""
    life, reloading = Lifetime(), anyio.Event()

    async def reload() -> None:
        reloading.set()
        await anyio.sleep_forever()

    async def signals() -> AsyncIterator[signal.Signals]:
        yield signal.SIGHUP
        assert not reloading.is_set()
        life.ready.set()
        await reloading.wait()
        yield signal.SIGTERM

    @contextmanager
    def receive() -> Iterator[AsyncIterator[signal.Signals]]:
        yield signals()

    with time_limit():
        await life.follow_signals(receive, reload)
    assert life.stopping.is_set()
