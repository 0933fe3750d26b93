"""What the daemon takes from the machine that it runs on: time, chance, processes and sockets."""

import random
import secrets
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import watchfiles
from anyio import to_thread
from pydantic import JsonValue

from orchestrator import files
from orchestrator.control import control_server
from orchestrator.control.operations import DaemonOperations
from orchestrator.documents.document_text import DocumentReader, ReadDocument
from orchestrator.files import OffLoop
from orchestrator.processes import child_process, local_models, reaper
from orchestrator.processes.child_process import ChildProcess, Spawn
from orchestrator.processes.launch import Endpoint
from orchestrator.processes.zygotes import Zygotes
from orchestrator.settings import Settings
from orchestrator.watching import FileWatch
from thinker.protocol.peer import Params

if TYPE_CHECKING:
    from thinker.http.exchange import Network


class Machine:
    """This machine. `run` must run while workers are spawned.

    A simulated machine overrides what it provides itself.
    """

    bot_network: "Network | None" = None  # to the Bot API; None opens connections
    spawn_broker: Spawn = staticmethod(child_process.execute)
    spawn_channel: Spawn = staticmethod(child_process.execute)
    spawn_tool_host: Spawn = staticmethod(child_process.execute)
    _zygotes: Zygotes | None = None
    spawn_worker: Spawn = staticmethod(child_process.execute)
    off_loop: OffLoop = staticmethod(files.off_loop)
    in_thread: OffLoop = staticmethod(to_thread.run_sync)
    document_text: ReadDocument
    watch: FileWatch = staticmethod(watchfiles.awatch)
    model_servers: Callable[[], Awaitable[tuple[Endpoint, ...]]] = staticmethod(
        local_models.local_servers
    )

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        clock_offset: Callable[[], int] = lambda: 0,
    ) -> None:
        """``clock_offset`` returns the milliseconds that this machine's clock is behind."""
        self._settings = settings
        self._clock_offset = clock_offset
        self.document_text = self._documents = DocumentReader()
        self._zygotes = None if settings.spawn == "exec" else Zygotes(settings, environ)
        if self._zygotes is not None:
            self.spawn_worker = self._zygotes.spawn

    @property
    def zygote(self) -> ChildProcess | None:
        """The process that forks workers, while it runs."""
        return None if self._zygotes is None else self._zygotes.current

    def clock(self) -> int:
        """Return milliseconds since the epoch, of a clock that can be set."""
        return time.time_ns() // 1_000_000 + self._clock_offset()

    def monotonic(self) -> float:
        """Return seconds of a clock that cannot be set."""
        return time.monotonic()

    def chance(self) -> float:
        """Return a random number in [0, 1); no secret depends on it."""
        return random.random()  # noqa: S311 - see above

    def random_bytes(self, count: int) -> bytes:
        """Return bytes that no one can guess."""
        return secrets.token_bytes(count)

    @contextmanager
    def stop_signals(self) -> Iterator[AsyncIterator[signal.Signals]]:
        """Receive the signals that stop or reload the daemon, while the block lasts.

        After it SIGINT ends the process at once, as SIGTERM does: an exception would have to pass
        whatever the stop is waiting for. The next start goes on from the journal.
        """
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            yield signals
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def listen(self) -> socket.socket:
        """Bind the control socket; see `control_server.listen`."""
        return control_server.listen(self._settings)

    async def examine(
        self, daemon: DaemonOperations, environ: Mapping[str, str], _: JsonValue = None
    ) -> Params:
        """Look at everything that `orchestrator doctor` does, but for trying the jails."""
        # Most daemons are never asked, and do without it.
        from orchestrator.doctor.daemon_checkup import checkup  # noqa: PLC0415 - see above

        return await checkup(daemon, environ, self.in_thread)

    async def run(self) -> None:
        """Keep a zygote ready, and reap orphans, until canceled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reaper.reap_orphans, self._reaped_elsewhere)
            if self._zygotes is not None:
                tasks.start_soon(self._zygotes.run)

    def _reaped_elsewhere(self, process: reaper.Process) -> bool:
        return child_process.is_watched(process) or self._documents.reaps(process.pid)
