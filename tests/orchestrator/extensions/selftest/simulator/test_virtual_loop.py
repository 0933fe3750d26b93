"""The virtual loop: time passes at once, and a kill leaves everything where it is."""

import gc
import itertools
import warnings

import anyio
import anyio.lowlevel
import pytest

from orchestrator.extensions.selftest.simulator import virtual_loop
from orchestrator.extensions.selftest.simulator.virtual_loop import StuckError, VirtualLoop


def test_an_hour_passes_at_once() -> None:
    """Tasks wake in the order of their times, and the clock shows them."""
    loop, seen = VirtualLoop(100.0, itertools.count()), list[float]()

    async def sleeper(seconds: float) -> None:
        await anyio.sleep(seconds)
        seen.append(round(loop.time(), 3))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for seconds in (3600.0, 1.0, 60.0):
                tasks.start_soon(sleeper, seconds)

    loop.run(main())
    assert seen == [101.0, 160.0, 3700.0]


def test_loop_whose_tasks_go_on_without_end_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one would that waits again and again for what rounding leaves of a time."""
    monkeypatch.setattr(virtual_loop, "MAX_STEPS", 1000)
    loop = VirtualLoop(0.0, itertools.count())

    async def main() -> None:
        while True:
            await anyio.lowlevel.checkpoint()

    with pytest.raises(StuckError, match="no time passes"):
        loop.run(main())


def test_nothing_runs_after_a_kill() -> None:
    """Neither a task that was ready, nor one that waits, nor what would clean up."""
    loop, seen = VirtualLoop(0.0, itertools.count()), list[str]()

    async def ready() -> None:
        seen.append("ready")
        await anyio.lowlevel.checkpoint()
        seen.append("late")

    async def main() -> None:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ready)
                await anyio.lowlevel.checkpoint()
                loop.kill()
                seen.append("the step goes on")
                await anyio.sleep(1)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            seen.append("cleaned")

    loop.run(main())
    assert seen == ["ready", "the step goes on"]


def test_task_that_begins_as_another_is_thrown_away_leaves_no_warning() -> None:
    """Neither does one that was made and had not begun."""
    loop = VirtualLoop(0.0, itertools.count())

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            try:
                tasks.start_soon(anyio.sleep, 1)
                loop.kill()
                await anyio.sleep(1)
            finally:
                tasks.start_soon(anyio.sleep, 2)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        loop.run(main())
        gc.collect()
    assert found == []


def test_tasks_that_wait_for_each_other_are_found() -> None:
    """A loop that could wait for ever says so instead."""
    with pytest.raises(StuckError):
        VirtualLoop(0.0, itertools.count()).run(anyio.Event().wait())


def test_error_of_the_main_task_is_raised() -> None:
    """As `anyio.run` does."""

    async def main() -> None:
        await anyio.sleep(5)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        VirtualLoop(0.0, itertools.count()).run(main())
