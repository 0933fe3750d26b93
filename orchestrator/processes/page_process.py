"""Run the page's process while it is looked at.

The supervisor listens; when a browser connects it starts the process and passes the listener. The
process leaves by itself when nothing was asked of it for a while, and the supervisor waits again:
no connection is lost in either change.
"""

import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
import structlog

from orchestrator.loop_owned import LoopOwned
from orchestrator.page_wire import FD_VARIABLE, LOG_VARIABLE, NAMES_VARIABLE
from orchestrator.processes import restarts
from orchestrator.processes.child_process import (
    ChildProcess,
    DescriptorChild,
    Program,
    Spawn,
    execute,
    running_with_descriptors,
)
from orchestrator.processes.kept_child import KeptChild
from orchestrator.processes.restarts import ExitKind
from orchestrator.settings import Settings
from orchestrator.wakeup import Wakeup
from thinker.protocol.env import inherited
from thinker.protocol.peer import NotificationHandler, Params, RequestHandler

ARGV = (sys.executable, "-P", "-m", "orchestrator.page")
LONGEST_WAIT = 60.0  # seconds between two starts at most
RETRY = 15.0  # seconds until a port that is taken is tried again
log = structlog.get_logger()


class PageProcess(LoopOwned):
    """Listens on ``port``, and keeps the page's process while it is used.

    ``handlers`` are what it may ask and ``notified`` what it may tell; they are set before `run`.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        clock: Callable[[], float],
        jitter: Callable[[], float] = restarts.jitter,
        spawn: Spawn = execute,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._spawn = spawn
        self._kept = KeptChild("the page", self, clock, jitter, LONGEST_WAIT)
        self.listener: socket.socket | None = None
        self._bound: int | None = None  # the port of the listener
        self._asked = False  # a browser has connected since the process ended
        self._names: tuple[str, ...] = ()
        self._changes = Wakeup()
        self.handlers: Mapping[str, RequestHandler] = {}
        self.notified: Mapping[str, NotificationHandler] = {}
        self.port: int | None = None  # None: it is off
        self.problem = ""  # why it cannot listen

    @property
    def wanted(self) -> bool:
        """Whether a browser has connected."""
        return self._asked and self.listener is not None

    @property
    def child(self) -> ChildProcess | None:
        """The process, while it runs."""
        return self._kept.child

    def configure(self, port: int | None, names: tuple[str, ...] = ()) -> None:
        """Say where to listen, None for nowhere, and by which other names this host is reached."""
        if (port, names) != (self.port, self._names):
            self.port, self._names = port, names
            self._asked = False  # a process that runs has the old listener
            self._changes.wake()
            self._kept.wake()

    def listen(self) -> float | None:
        """Listen if it is on and does not; return the seconds until it is to be tried again.

        Raises nothing: `problem` says what is wrong.
        """
        self.problem = ""
        if self.listener is not None or self.port is None:
            return None
        try:
            self.listener = socket.create_server(("127.0.0.1", self.port))
        except OSError as error:
            self.problem = (
                f"the page cannot listen on port {self.port}: {error.strerror}; end the program"
                " that has it, or set channels.web.port in agents.json"
            )
            log.warning("page_off", problem=self.problem)
            return RETRY
        # Connections inherit it; without it every response waits 40 ms for an acknowledgment.
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._bound = self.port
        self.listener.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        return None

    def tell(self, method: str, params: Params = None) -> None:
        """Tell the process something, if it runs."""
        if self._kept.child is not None:
            self._kept.child.peer.notify(method, params)

    async def run(self) -> None:
        """Listen where `configure` says, until canceled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._kept.run)
            try:
                while True:
                    changed = self._changes.changed
                    retry = self.listen()
                    async with anyio.create_task_group() as waiting:
                        if self.listener is not None:
                            waiting.start_soon(self._await_browsers, self.listener)
                        with anyio.move_on_after(retry):
                            await changed.wait()
                        waiting.cancel_scope.cancel()
                    if self._bound != self.port:
                        self._close()
            finally:
                self._close()

    async def _await_browsers(self, listener: socket.socket) -> None:
        """Ask for the process whenever a browser connects and it does not run."""
        while True:
            ended = self._kept.changes.changed
            if not self._asked:
                await anyio.wait_readable(listener)
                self._asked = True
                self._kept.wake()
            await ended.wait()

    def _close(self) -> None:
        if self.listener is not None:
            self.listener.close()
            self.listener = self._bound = None

    # --- the duty of the child -------------------------------------------------------------------

    @asynccontextmanager
    async def start(self) -> AsyncIterator[DescriptorChild]:
        """Start the process, and give it the listener."""
        settings = self._settings
        env = {
            **inherited(self._environ),
            "ORCHESTRATOR_HOME": str(settings.home),
            LOG_VARIABLE: settings.log_level,
            NAMES_VARIABLE: ",".join(self._names),
        }
        program = Program("the page", ARGV, env, settings.home, FD_VARIABLE)
        async with running_with_descriptors(program, DescriptorChild, self._spawn) as child:
            child.peer.requests |= self.handlers
            child.peer.notifications |= self.notified
            if self.listener is not None:
                socket.send_fds(child.descriptors, [b"listener"], [self.listener.fileno()])
            log.debug("page_ready", pid=child.pid)
            yield child

    async def attend(self, child: DescriptorChild) -> None:
        """Watch that it answers."""
        child.watch()

    def ended(self, kind: ExitKind, reason: str) -> None:
        """Wait for the next browser."""
        self._asked = False
        log.log(kind.log_level, "page_ended", kind=kind, reason=reason)
