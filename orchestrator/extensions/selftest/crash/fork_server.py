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

import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn, TextIO

from pydantic import BaseModel

from orchestrator import failpoints, loop_bound
from orchestrator.extensions.selftest.crash.home_mark import mark_process
from orchestrator.processes import child_process
from orchestrator.processes.child_process import Program
from thinker.protocol import logs
from thinker.protocol.env import pack_start, unpack_start

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
MESSAGE = 1 << 16  # bytes of a message at most
WIRE = 3  # the descriptor of a spare's socket once it has become its program
ARGUMENTS, ENVIRONMENT = 45, 47  # index after the name in proc_pid_stat(5), fields 48 and 50


@dataclass(frozen=True)
class Life:
    """A daemon to fork: its environment and folder, and the modules to keep as spares."""

    environ: dict[str, str]
    folder: str
    spares: tuple[str, ...]

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()


class ForkedSpare:
    """A child that waits to become ``python -P -m MODULE``; see `child_process.Spare`."""

    def __init__(self, module: str) -> None:
        self.argv: tuple[str, ...] = (sys.executable, "-P", "-m", module)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            _run_spare(module, theirs)
        theirs.close()
        self._pidfd, self._socket = os.pidfd_open(self.pid), ours

    def run_program(self, program: Program, fd: int) -> None:
        """Let the child run the program, with a copy of ``fd`` as its socket."""
        start = pack_start(program.cwd, {**program.env, program.fd_variable: str(WIRE)})
        stdin = os.open(os.devnull, os.O_RDONLY) if program.stdin < 0 else os.dup(program.stdin)
        try:
            with self._socket as receiver:
                socket.send_fds(receiver, [start], [fd, stdin])
        finally:
            os.close(stdin)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


def _run_spare(module: str, receiver: socket.socket) -> NoReturn:
    """Wait for a program; then run its module as an interpreter does."""
    start, received, _, _ = socket.recv_fds(receiver, MESSAGE, 2)
    if not received:
        _exit_process(0)  # the daemon has ended
    wire, stdin = received
    cwd, env = unpack_start(start)
    os.setsid()
    receiver.detach()
    os.dup2(stdin, 0)
    os.dup2(2, 1)  # as `child_process` does
    os.dup2(wire, WIRE)
    os.closerange(WIRE + 1, os.sysconf("SC_OPEN_MAX"))
    _exit_process(_run_module(module, env, cwd))


def _exit_process(code: int) -> NoReturn:
    """End this process; the interpreter's own shutdown would copy most of the memory."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


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
    try:
        code = _run_module("orchestrator", life.environ, life.folder, "run")
    finally:
        child_process.end_spares()
    _exit_process(code)


def _open_standard_stream(fd: int, errors: str) -> TextIO:
    """Open a standard stream anew: the server's may have been a file, and this one is a pipe."""
    return open(fd, "w", buffering=1, encoding="utf-8", errors=errors, closefd=False)


def _run_module(module: str, environ: Mapping[str, str], folder: str, *arguments: str) -> int:
    """Run a module as ``python -m`` does, with this environment, in this folder.

    Return its exit code.
    """
    os.environ.clear()
    os.environ.update(environ)
    _overwrite_proc_text(ARGUMENTS, (sys.executable, "-P", "-m", module, *arguments))
    _overwrite_proc_text(ENVIRONMENT, (f"{name}={value}" for name, value in environ.items()))
    time.tzset()
    os.chdir(folder)
    failpoints.set_observer(failpoints.FailpointInjector(environ))
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, str):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    return 0


def _overwrite_proc_text(at: int, words: Iterable[str]) -> None:
    """Overwrite what /proc shows as this process's arguments or environment."""
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = int(fields[at]), int(fields[at + 1])
    text = b"\0".join(map(os.fsencode, words))
    ctypes.memmove(start, text[: end - start - 1].ljust(end - start, b"\0"), end - start)


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
    gc.freeze()
    _serve_forks(socket.socket(fileno=0))


if __name__ == "__main__":
    main()
