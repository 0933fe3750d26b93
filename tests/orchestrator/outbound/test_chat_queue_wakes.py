"""Messages that are queued between a look at the outbox and what follows from it."""

from pathlib import Path

import anyio
import pytest
from fakes.delivering import delivering
from fakes.suspending_reads import interrupt_read

from orchestrator.journal.turns import outbox

pytestmark = pytest.mark.usefixtures("reads")


@pytest.mark.parametrize("held", [False, True])
async def test_message_that_is_queued_while_a_queue_finds_nothing_more_is_sent(
    tmp_path: Path,
    held: bool,  # noqa: FBT001
) -> None:
    """Also in a chat that the platform wants silent for a moment then."""
    async with delivering(tmp_path) as running:

        async def happens(found: object) -> bool:
            if found is None and running.shown:
                if held:
                    now = anyio.current_time()
                    running.delivery.flood.refused("telegram", "7", 0.5, now)
                await running.add("second")
            return bool(running.shown)

        interrupt_read(running.store, outbox.first, happens)
        await running.add("first")
        while running.shown != ["first", "second"]:
            await anyio.lowlevel.checkpoint()
