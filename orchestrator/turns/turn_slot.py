"""A place among the turns that an agent runs at once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class TurnSlot:
    """One place of an agent's maxConcurrentTurns, for the task that takes it.

    A turn that waits for a person, a budget or a subagent runs nothing, so it gives its place back
    meanwhile.
    """

    def __init__(self, limit: anyio.CapacityLimiter) -> None:
        self._limit = limit
        self._taken = False

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a place, and hold it."""
        await self._take()
        try:
            yield
        finally:
            self._give_back()

    @asynccontextmanager
    async def given_back(self) -> AsyncIterator[None]:
        """Let another turn have the place, and wait for one again afterwards."""
        self._give_back()
        try:
            yield
        finally:
            await self._take()

    async def _take(self) -> None:
        try:
            self._limit.acquire_nowait()
        except anyio.WouldBlock:
            await self._limit.acquire()
        self._taken = True

    def _give_back(self) -> None:
        if self._taken:
            self._limit.release()
        self._taken = False
