"""Places among the turns that an agent runs at once."""

import anyio
import pytest
from fakes.time_limit import time_limit

from orchestrator.turns.turn_runner import TurnSlot


async def test_place_of_a_turn_that_waits_is_free_for_another() -> None:
    """Afterwards it waits for a place again."""
    limit, waits, over = anyio.CapacityLimiter(1), anyio.Event(), anyio.Event()
    ran: list[str] = []

    async def asks() -> None:
        slot = TurnSlot(limit)
        async with slot.hold_place():
            async with slot.lend_place():
                waits.set()
                await over.wait()
            ran.append("asks")

    async def other() -> None:
        await waits.wait()
        async with TurnSlot(limit).hold_place():
            over.set()
            ran.append("other")

    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asks)
            tasks.start_soon(other)
    assert ran == ["other", "asks"]
    assert limit.borrowed_tokens == 0


async def test_turn_that_is_stopped_while_it_waits_leaves_no_place_taken() -> None:
    """Nor does it give one back twice."""
    limit = anyio.CapacityLimiter(1)
    slot = TurnSlot(limit)
    with pytest.raises(RuntimeError):
        async with slot.hold_place(), slot.lend_place():
            raise RuntimeError
    assert limit.borrowed_tokens == 0
