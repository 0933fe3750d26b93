"""The daemon's interface to its machine: time, randomness, processes and sockets."""

import gc
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

from orchestrator import files
from orchestrator.document_text import DocumentReader, FileReader, ReadDocument
from orchestrator.files import OffLoop
from orchestrator.installed import find_installed
from orchestrator.processes import child_process, local_models, reaper
from orchestrator.processes.child_process import ChildProcess, Spawn
from orchestrator.processes.launch import Endpoint
from orchestrator.processes.own_programs import is_own_program
from orchestrator.processes.zygotes import Zygotes
from orchestrator.settings import Settings
from orchestrator.system.control_socket import bind_control_socket
from orchestrator.watching import FileWatch

if TYPE_CHECKING:
    from thinker.http.exchange import Network


class Machine:
    """This machine; `run` must run while workers are spawned.

    A simulated machine overrides what it simulates.
    """

    bot_network: "Network | None" = None  # to the Bot API; None opens connections
    spawn_broker: Spawn = staticmethod(child_process.execute_program)
    spawn_channel: Spawn = staticmethod(child_process.execute_program)
    spawn_tool_host: Spawn = staticmethod(child_process.execute_program)
    _zygotes: Zygotes | None = None
    spawn_worker: Spawn = staticmethod(child_process.execute_program)
    # Seconds of a clock that cannot be set; a number in [0, 1) on which no secret depends; bytes
    # that no one can guess.
    monotonic: Callable[[], float] = staticmethod(time.monotonic)
    draw_fraction: Callable[[], float] = staticmethod(random.random)
    random_bytes: Callable[[int], bytes] = staticmethod(secrets.token_bytes)
    off_loop: OffLoop = staticmethod(files.run_off_loop)
    in_thread: OffLoop = staticmethod(to_thread.run_sync)
    # A collection of garbage need not look again at what exists now: ten thousand agents would take
    # a fifth of a second, in which nothing else runs.
    freeze_memory: Callable[[], None] = staticmethod(gc.freeze)
    document_text: ReadDocument
    watch: FileWatch = staticmethod(watchfiles.awatch)
    model_servers: Callable[[], Awaitable[tuple[Endpoint, ...]]] = staticmethod(
        local_models.find_local_servers
    )

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        clock_offset: Callable[[], int] | None = None,
    ) -> None:
        """Take ``clock_offset``, which returns how many ms this machine's clock is behind."""
        self._settings = settings
        self._clock_offset = clock_offset
        self.document_text = FileReader(_find_document_reader()).read_text
        self._zygotes = None if settings.spawn == "exec" else Zygotes(settings, environ)
        if self._zygotes is not None:
            self.spawn_worker = self.spawn_broker = self._zygotes.spawn_worker

    @property
    def zygote(self) -> ChildProcess | None:
        """The process that forks workers, while it runs."""
        return None if self._zygotes is None else self._zygotes.current_zygote

    def clock(self) -> int:
        """Return milliseconds since the epoch, from a clock that can be set."""
        now = time.time_ns() // 1_000_000
        return now if self._clock_offset is None else now + self._clock_offset()

    def read_seconds(self) -> float:
        """Return the time of `clock` in seconds."""
        return self.clock() / 1000

    @contextmanager
    def stop_signals(self) -> Iterator[AsyncIterator[signal.Signals]]:
        """Receive the signals that stop or reload the daemon, while the block lasts.

        After the block, SIGINT ends the process immediately, as SIGTERM does: an exception would
        have to pass through whatever the stop waits for. The next start resumes from the journal.
        """
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            yield signals
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def listen(self) -> socket.socket:
        """Bind the control socket; see `bind_control_socket`."""
        return bind_control_socket(self._settings)

    async def run(self) -> None:
        """Keep a zygote ready and reap orphans until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reaper.reap_orphans, _is_reaped_elsewhere)
            if self._zygotes is not None:
                tasks.start_soon(self._zygotes.run)


def _is_reaped_elsewhere(process: reaper.Process) -> bool:
    return child_process.is_watched(process) or is_own_program(process.pid)


def _find_document_reader() -> DocumentReader | None:
    """Return the bundled reader of documents; no agents.json has named others yet."""
    made = (extension.build_document_reader() for extension in find_installed().own.values())
    return next((reader for reader in made if reader is not None), None)
