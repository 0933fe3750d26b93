"""A context manager that is entered and left by a task of its own, for fixtures."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def in_own_task(block: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave ``block`` in one task: a fixture ends in another one than it began in."""
    entered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    left = asyncio.Event()

    async def hold() -> None:
        try:
            async with block as value:
                entered.set_result(value)
                await left.wait()
        except BaseException as error:
            if not entered.done():
                entered.set_exception(error)
            raise

    task = asyncio.create_task(hold())
    try:
        yield await entered
    finally:
        left.set()
        await task
