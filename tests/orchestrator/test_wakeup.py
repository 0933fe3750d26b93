"""Waits for a change: none is missed, and closing ends them all."""

import anyio
from fakes.time_limit import time_limit

from orchestrator.wakeup import Wakeup


async def test_change_between_look_and_wait_is_not_missed() -> None:
    """A change while the condition is being checked wakes the waiter."""
    changes, looks = Wakeup(), 0

    async def reached() -> bool:
        nonlocal looks
        looks += 1
        changes.wake()
        return looks == 3

    with time_limit():
        await changes.wait_until(reached)
    assert looks == 3


async def test_close_ends_present_and_later_waits() -> None:
    """The first checked once, the second did not check."""
    changes, looks = Wakeup(), 0

    async def never() -> bool:
        nonlocal looks
        looks += 1
        return False

    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(changes.wait_until, never)
            await anyio.wait_all_tasks_blocked()
            changes.close()
        await changes.wait_until(never)
    assert looks == 1


async def test_patience_ends() -> None:
    """A wait with a bound ends without the change."""
    changes, looks = Wakeup(), 0

    async def never() -> bool:
        nonlocal looks
        looks += 1
        return False

    with time_limit():
        await changes.wait_until(never, 0.001)
    assert looks <= 1
