"""A process that forks daemons from a warm one.

An executed daemon spends most of a short life on imports. The fork server has made them. Each
daemon is a process of its own in every other respect: it has its own environment, descriptors and
folder, runs ``python -m orchestrator run`` from its first line and ends as an interpreter does. Its
zygote, its broker and its tool host are forked as well, before it begins, and wait as `Spare`.

It has one thread. Each message on its standard input is a `Life`, with two descriptors: a socket,
and what becomes the daemon's standard error. On the socket it answers with the process's id, and
with its exit code when it has ended. Until the socket is closed the number belongs to that process;
one that lives then is killed. Arguments are modules to import as well.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn, TextIO

from pydantic import BaseModel

from orchestrator import failpoints, loop_bound
from orchestrator.extensions.selftest.crash.home_mark import mark_process
from orchestrator.processes import child_process
from orchestrator.processes.forked_spare import MESSAGE, ForkedSpare, exit_process, run_module
from thinker.jail.shared_objects import share_objects
from thinker.protocol import logs

MODULES = (  # imports of a daemon, its zygote and its tool host, including those on first use
    "orchestrator.cli.run",
    "orchestrator.extensions.telegram.adapter",
    "orchestrator.extensions.telegram.bot_api",
    "orchestrator.broker.broker_host",
    "orchestrator.extensions.mcp_client.toolhost.host",
    "thinker.prompt.render.turn_prompt",
    "thinker.startup",
    "thinker.http.web_client",
)


@dataclass(frozen=True)
class Life:
    """A daemon to fork: its environment and folder, and the modules to keep as spares."""

    environ: dict[str, str]
    folder: str
    spares: tuple[str, ...]

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def _run_daemon(life: Life, log: int) -> NoReturn:
    null = os.open(os.devnull, os.O_RDONLY)
    for fd, number in ((null, 0), (log, 1), (log, 2)):
        os.dup2(fd, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    sys.stdout, sys.stderr = (
        _open_standard_stream(1, "strict"),
        _open_standard_stream(2, "backslashreplace"),
    )
    mark_process(os.getpid(), Path(life.folder))
    for module in life.spares:
        child_process.keep_spare(ForkedSpare(module))
    failpoints.set_observer(failpoints.FailpointInjector(life.environ))
    try:
        code = run_module("orchestrator", life.environ, life.folder, "run")
    finally:
        child_process.end_spares()
    exit_process(code)


def _open_standard_stream(fd: int, errors: str) -> TextIO:
    """Open a standard stream anew: the server's may have been a file, and this one is a pipe."""
    return open(fd, "w", buffering=1, encoding="utf-8", errors=errors, closefd=False)


@dataclass(frozen=True)
class _DaemonFork:
    """A daemon: its process, and the socket of the requester."""

    pid: int
    pidfd: int
    user: socket.socket

    def send_number(self, number: int) -> None:
        with suppress(OSError):  # the requester is gone
            self.user.send(str(number).encode())

    def send_exit_code(self) -> None:
        """Send the exit code; the process is reaped later."""
        if ended := os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOWAIT):
            exited = ended.si_code == os.CLD_EXITED
            self.send_number(ended.si_status if exited else -ended.si_status)

    def kill_and_reap(self) -> None:
        """Kill the process if it still runs, and reap it."""
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        self.user.close()


def _fork_daemon(message: bytes, user: socket.socket, log: int) -> _DaemonFork:
    """Fork a daemon; in its process this does not return."""
    pid = os.fork()
    if pid == 0:
        _run_daemon(Life(**json.loads(message)), log)
    os.close(log)
    forked = _DaemonFork(pid, os.pidfd_open(pid), user)
    forked.send_number(pid)
    return forked


def _serve_forks(control: socket.socket) -> None:
    """Fork a daemon for each message until there are no more."""
    living: dict[int, _DaemonFork] = {}  # by pidfd
    used: dict[int, _DaemonFork] = {}  # by the user's socket
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd in living:
                poll.unregister(fd)
                living.pop(fd).send_exit_code()
            elif fd in used:
                forked = used.pop(fd)
                poll.unregister(fd)
                if living.pop(forked.pidfd, None):
                    poll.unregister(forked.pidfd)
                forked.kill_and_reap()
                break  # the next descriptors may have these numbers
            elif fd == control.fileno():
                message, fds, _, _ = socket.recv_fds(control, MESSAGE, 2)
                if not message:
                    for forked in used.values():
                        forked.kill_and_reap()
                    return
                user, log = fds
                forked = _fork_daemon(message, socket.socket(fileno=user), log)
                living[forked.pidfd] = used[user] = forked
                poll.register(forked.pidfd, select.POLLIN)
                poll.register(user, 0)  # its end is always reported


def _rebuild_models(model: type[BaseModel]) -> None:
    """Make the validators of all models, which otherwise happens on first use."""
    for kind in model.__subclasses__():
        kind.model_rebuild(raise_errors=False)
        _rebuild_models(kind)


def main() -> None:
    """Do what all zygotes would, then fork daemons until standard input ends."""
    for module in (*MODULES, *sys.argv[1:]):
        import_module(module)
    loop_bound.enable_check()
    logs.configure_logging("error")  # the rehearsal is not a real turn
    import_module("thinker.warmup").warm_up()  # the workers' own code
    _rebuild_models(BaseModel)
    gc.collect()
    share_objects()
    _serve_forks(socket.socket(fileno=0))


if __name__ == "__main__":
    main()
