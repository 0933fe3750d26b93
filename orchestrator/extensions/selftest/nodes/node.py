"""One node: a daemon with its own home, which is restarted whenever it has ended."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio

from orchestrator.child_signals import signal_child
from orchestrator.extensions.selftest.crash import process_tree
from orchestrator.extensions.selftest.crash.daemon_process import DaemonProcess, execute_daemon
from orchestrator.extensions.selftest.nodes.blocking_proxy import BlockingProxy

LOOK = 0.01  # seconds between two reads of a log
WITHIN = 60.0  # seconds in which a node starts, takes over or ends
READY, STANDS_BY, TAKEN, LOST = "ready", "standing_by", "journal_taken", "journal_lost"
GROUPS_LOST = "groups_lost"


class TriedNode:
    """A node; ``network`` leads to the servers, ``environ`` is all that its daemon gets."""

    def __init__(
        self, home: Path, environ: Mapping[str, str], network: tuple[BlockingProxy, ...]
    ) -> None:
        self.home = home
        self.network = network
        self.url = environ.get("ORCHESTRATOR_NODE_URL", "")
        self._environ = environ
        self._process: DaemonProcess | None = None
        self._lives = 0

    @property
    def log_path(self) -> Path:
        """The log of the node's present life."""
        return self.home / f"log-{self._lives}"

    def count_answers(self) -> int:
        """Return the number of turns that the node has answered in all its lives."""
        logs = [log.read_bytes() for log in self.home.glob("log-*")]
        return sum(log.count(_format_event_mark("turn_replied")) for log in logs)

    async def run_command(self, *words: str) -> None:
        """Run a command of the daemon's.

        Raises:
            CalledProcessError: it has failed.
        """
        command = (sys.executable, "-P", "-m", "orchestrator", *words)
        await anyio.run_process(command, env=dict(self._environ), cwd=self.home)

    def count_events(self, event: str) -> int:
        """Return the number of times that the log has an event."""
        return self.log_path.read_bytes().count(_format_event_mark(event))

    @property
    def state(self) -> str:
        """The last log event that says whether the daemon works."""
        log = self.log_path.read_bytes()
        return max((READY, STANDS_BY, LOST), key=lambda event: log.rfind(_format_event_mark(event)))

    async def start(self) -> None:
        """Start a daemon, and wait until it works or stands by."""
        self._lives += 1
        self._process = await execute_daemon(self._environ, self.home, self.log_path)
        await wait_until(lambda: self.count_events(READY) + self.count_events(STANDS_BY) > 0)

    async def wait_for_exit(self) -> int:
        """Wait for the daemon's end; return the exit code, or minus the signal.

        Raises:
            TimeoutError: the daemon does not end.
        """
        if self._process is None:
            return 0
        with anyio.fail_after(WITHIN):
            return await self._process.wait()

    def send_signal(self, number: signal.Signals, *, all_of_it: bool = False) -> None:
        """Send a signal to the daemon, or to its workers and servers as well."""
        if self._process is None:
            return
        below = process_tree.list_descendants(self._process.pid) if all_of_it else []
        signal_child(self._process, number)
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    async def end_daemon(self) -> None:
        """Kill the daemon."""
        if self._process is not None:
            self.send_signal(signal.SIGKILL, all_of_it=True)  # frozen ones would outlive it
            await self._process.wait()


def _format_event_mark(event: str) -> bytes:
    return f'"event":"{event}"'.encode()


async def wait_until(found: Callable[[], bool], seconds: float = WITHIN) -> None:
    """Wait until the logs show something.

    Raises:
        TimeoutError: the logs do not show it.
    """
    with anyio.fail_after(seconds):
        while not found():  # noqa: ASYNC110 - a log has no events to wait for
            await anyio.sleep(LOOK)
