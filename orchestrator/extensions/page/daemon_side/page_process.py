"""Run the page's process while the page is in use.

The supervisor listens; when a browser connects, it starts the process and passes the listener. The
process ends when idle for a while, and the supervisor listens again: no connection is lost in
either change.
"""

import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import structlog

from orchestrator.extensions.page.page_checks import DEAF
from orchestrator.extensions.page.page_wire import (
    ENTRANCE_VARIABLE,
    FD_VARIABLE,
    LOG_VARIABLE,
    NUMBER,
    STORE_VARIABLE,
    PageEntrance,
)
from orchestrator.loop_bound import LoopBound
from orchestrator.processes import restarts
from orchestrator.processes.child_process import (
    ChildProcess,
    DescriptorChild,
    Program,
    Spawn,
    execute_program,
    run_child_with_descriptors,
)
from orchestrator.processes.kept_child import KeptChild
from orchestrator.processes.restarts import ExitKind
from orchestrator.settings import Settings
from orchestrator.wakeup import Wakeup
from thinker.protocol.env import select_inherited_variables
from thinker.protocol.peer import NotificationHandler, Params, RequestHandler

ARGV = (sys.executable, "-P", "-m", "orchestrator.extensions.page")
MAX_WAIT_SECONDS = 60.0  # between two starts at most
RETRY_SECONDS = 15.0  # until a place that is taken is tried again
log = structlog.get_logger()


class PageProcess(LoopBound):
    """Listens at ``place``, a port or a unix socket, and keeps the page's process while used.

    ``load_handlers`` returns what serves its requests, and ``notified`` has the handlers of its
    notifications; they are set before `run`.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        clock: Callable[[], float],
        jitter: Callable[[], float] = restarts.draw_jitter,
        spawn: Spawn = execute_program,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._spawn = spawn
        self._kept = KeptChild("the page", self, clock, jitter, MAX_WAIT_SECONDS)
        self.listener: socket.socket | None = None
        self._bound: int | Path | None = None  # the place of the listener
        self._asked = False  # a browser has connected since the process ended
        self._entrance = PageEntrance()
        self._changes = Wakeup()
        self.load_handlers: Callable[[], Awaitable[Mapping[str, RequestHandler]]] = _load_none
        self.notified: Mapping[str, NotificationHandler] = {}
        self.place: int | Path | None = None  # None: the page is off
        self.problem = ""  # why the page cannot listen

    @property
    def is_needed(self) -> bool:
        """Whether a browser has connected."""
        return self._asked and self.listener is not None

    @property
    def child(self) -> ChildProcess | None:
        """The process, while it runs."""
        return self._kept.child

    def configure(self, place: int | Path | None, entrance: PageEntrance | None = None) -> None:
        """Set where to listen, None for nowhere, and the entrance for requests."""
        entrance = entrance or PageEntrance()
        if (place, entrance) != (self.place, self._entrance):
            self.place, self._entrance = place, entrance
            self._asked = False  # a process that runs has the old listener
            self._changes.wake()
            self._kept.wake()

    def try_listening(self) -> float | None:
        """Listen if needed; return the seconds until the next attempt.

        Never raises: `problem` has the reason of a failure.
        """
        self.problem = ""
        if self.listener is not None or self.place is None:
            return None
        try:
            self.listener = _bind_listener(self.place)
        except OSError as error:
            self.problem = _describe_bind_error(self.place, error)
            log.warning("page_off", problem=self.problem)
            return RETRY_SECONDS
        self._bound = self.place
        self.listener.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        return None

    def receive_connection(self, number: int) -> socket.socket | None:
        """Return the connection that the process sent under a number; close all others."""
        child = self._kept.child
        with suppress(BlockingIOError):
            while isinstance(child, DescriptorChild):
                label, received, *_ = socket.recv_fds(child.descriptors, NUMBER, 1)
                found = [socket.socket(fileno=fd) for fd in received]
                if found and int.from_bytes(label) == number:
                    return found[0]
                for connection in found:
                    connection.close()
                if not label:  # the process has ended
                    return None
        return None

    def notify_page(self, method: str, params: Params = None) -> None:
        """Notify the process, if it runs."""
        if self._kept.child is not None:
            self._kept.child.peer.notify(method, params)

    async def run(self) -> None:
        """Listen where `configure` says, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._kept.run)
            try:
                while True:
                    changed = self._changes.changed
                    retry = self.try_listening()
                    async with anyio.create_task_group() as waiting:
                        if self.listener is not None:
                            waiting.start_soon(self._await_browsers, self.listener)
                        with anyio.move_on_after(retry):
                            await changed.wait()
                        waiting.cancel_scope.cancel()
                    if self._bound != self.place:
                        self._close_listener()
            finally:
                self._close_listener()

    async def _await_browsers(self, listener: socket.socket) -> None:
        """Request the process whenever a browser connects while the process is not running."""
        while True:
            ended = self._kept.changes.changed
            if not self._asked:
                await anyio.wait_readable(listener)
                self._asked = True
                self._kept.wake()
            await ended.wait()

    def _close_listener(self) -> None:
        if self.listener is not None:
            self.listener.close()
            if isinstance(self._bound, Path):
                self._bound.unlink(missing_ok=True)
            self.listener = self._bound = None

    # --- the purpose of the child ----------------------------------------------------------------

    @asynccontextmanager
    async def start(self) -> AsyncIterator[DescriptorChild]:
        """Start the process, and give it the listener."""
        settings = self._settings
        env = {
            **select_inherited_variables(self._environ),
            "ORCHESTRATOR_HOME": str(settings.home),
            LOG_VARIABLE: settings.log_level,
            # Python's own allocator keeps a megabyte for each object that outlives a large screen:
            # 4 MB after some hundred requests, for 2 MB more at the start and a fortieth of speed.
            "PYTHONMALLOC": "malloc",
            "PYDANTIC_DISABLE_PLUGINS": "1",  # looking for them takes a megabyte
            ENTRANCE_VARIABLE: self._entrance.model_dump_json(),
            **self._build_store_variables(),
        }
        handlers = await self.load_handlers()
        program = Program("the page", ARGV, env, settings.home, FD_VARIABLE)
        async with run_child_with_descriptors(program, DescriptorChild, self._spawn) as child:
            child.peer.requests |= handlers
            child.peer.notifications |= self.notified
            if self.listener is not None:
                socket.send_fds(child.descriptors, [b"listener"], [self.listener.fileno()])
            log.debug("page_ready", pid=child.pid)
            yield child

    async def update_child(self, child: DescriptorChild) -> None:
        """Watch that the process answers."""
        child.start_watching()

    def on_child_ended(self, kind: ExitKind, reason: str) -> None:
        """Wait for the next browser."""
        self._asked = False
        log.log(kind.log_level, "page_ended", kind=kind, reason=reason)

    def _build_store_variables(self) -> dict[str, str]:
        """Return the variables for the process's connection to a database server, if needed."""
        store = self._settings.store
        if store is None:
            return {}
        libpq = {name: value for name, value in self._environ.items() if name.startswith("PG")}
        return {**libpq, STORE_VARIABLE: store.get_secret_value()}


def _bind_listener(place: int | Path) -> socket.socket:
    """Return a listener on a port of 127.0.0.1, or on a socket that only this user can open."""
    if isinstance(place, int):
        listener = socket.create_server(("127.0.0.1", place))
        # Connections inherit it; without it every response waits 40 ms for an acknowledgment.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    place.unlink(missing_ok=True)  # of a daemon that was killed; only one runs in a home
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(place))
        place.chmod(0o600)  # before anyone can connect
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def _describe_bind_error(place: int | Path, error: OSError) -> str:
    if isinstance(place, int):
        return (
            f"{DEAF} on port {place}: {error.strerror}; end the program that has"
            " it, or set channels.web.port in agents.json"
        )
    return f"{DEAF} on {place}: {error.strerror or error}; fix its folder"


async def _load_none() -> Mapping[str, RequestHandler]:
    return {}
