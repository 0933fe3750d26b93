"""Follow the signals that stop the daemon or reload its configuration."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager

import anyio
import structlog

log = structlog.get_logger()


class Lifetime:
    """Whether the daemon starts (`starting` is cancelled to stop it), is ready, or stops."""

    def __init__(self) -> None:
        self.starting = anyio.CancelScope()
        self.ready = anyio.Event()
        self.stopping = anyio.Event()

    async def follow_signals(
        self,
        receive: Callable[[], AbstractContextManager[AsyncIterator[signal.Signals]]],
        reload: Callable[[], Awaitable[object]],
    ) -> None:
        """Stop on a signal, even during the start; the next signal ends the process.

        A reload waits until the daemon is ready, and for files; a signal to stop ends it.
        """

        async def reload_when_ready() -> None:
            await self.ready.wait()
            await reload()

        async with anyio.create_task_group() as reloads:
            with receive() as signals:
                async for number in signals:
                    if number is not signal.SIGHUP:
                        break
                    reloads.start_soon(reload_when_ready)
            log.info("stopping", signal=number.name)  # from here on the next one ends the process
            self.stopping.set()
            self.starting.cancel()
            reloads.cancel_scope.cancel()
