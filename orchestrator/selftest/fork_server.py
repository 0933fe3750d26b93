"""``python -P -m orchestrator.selftest.fork_server``: forks daemons from a warm process.

An executed daemon spends most of a short life on imports. The fork server has made them. Each
daemon is a process of its own in every other respect: it has its own environment, descriptors and
folder, runs ``python -m orchestrator run`` from its first line and ends as an interpreter does. Its
zygote, its broker and its tool host are forked as well, before it begins, and wait as `Spare`.

It has one thread. Each message on its standard input is a `Life`; it answers with the process's id,
and with its exit code when it has ended.
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
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from orchestrator import failpoints, loop_owned
from orchestrator.processes import child_process
from orchestrator.processes.child_process import Program
from orchestrator.selftest.home_mark import mark
from thinker.protocol.env import pack_start, unpack_start

MODULES = (  # what a daemon, its zygote and its tool host import, also when they first need it
    "orchestrator.cli.run",
    "orchestrator.channels.telegram.adapter",
    "orchestrator.channels.telegram.bot_api",
    "orchestrator.broker.broker_host",
    "orchestrator.toolhost.host",
    "thinker.startup",
    "thinker.warmup",
    "thinker.http.web_client",
)
MESSAGE = 1 << 16  # bytes of a message at most
WIRE = 3  # the descriptor of a spare's socket once it has become its program
ENV_START, ENV_END = 47, 48  # index after the name in proc_pid_stat(5), fields 50 and 51


@dataclass(frozen=True)
class Life:
    """A daemon to fork: its environment, folder and log, and the modules to keep as spares."""

    environ: dict[str, str]
    folder: str
    log: str
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
            _become(module, theirs)
        theirs.close()
        self._socket = ours

    def become(self, program: Program, fd: int) -> None:
        """Make it run the program, with a copy of ``fd`` as its socket."""
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
        os.kill(self.pid, signal.SIGKILL)


def _become(module: str, receiver: socket.socket) -> None:
    """Wait for a program; then run its module as an interpreter does."""
    start, received, _, _ = socket.recv_fds(receiver, MESSAGE, 2)
    if not received:
        raise SystemExit(0)  # the daemon has ended
    wire, stdin = received
    cwd, env = unpack_start(start)
    os.setsid()
    receiver.detach()
    os.dup2(stdin, 0)
    os.dup2(2, 1)  # as `child_process` does
    os.dup2(wire, WIRE)
    os.closerange(WIRE + 1, os.sysconf("SC_OPEN_MAX"))
    _run(module, env, cwd)
    raise SystemExit(0)


def _live(life: Life) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    log = os.open(life.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for fd, number in ((null, 0), (log, 1), (log, 2)):
        os.dup2(fd, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    mark(os.getpid(), Path(life.folder))
    for module in life.spares:
        child_process.keep(ForkedSpare(module))
    _run("orchestrator", life.environ, life.folder, "run")


def _run(module: str, environ: Mapping[str, str], folder: str, *arguments: str) -> None:
    """Run a module as ``python -m`` does, with this environment, in this folder."""
    os.environ.clear()
    os.environ.update(environ)
    _show_environment(environ)
    time.tzset()
    os.chdir(folder)
    failpoints.observe(failpoints.FailpointInjector(environ))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _show_environment(environ: Mapping[str, str]) -> None:
    """Overwrite what /proc shows as this process's environment."""
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = int(fields[ENV_START]), int(fields[ENV_END])
    text = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environ.items())
    ctypes.memmove(start, text[: end - start - 1].ljust(end - start, b"\0"), end - start)


def main() -> None:
    """Import everything, then fork a daemon for each message until standard input ends."""
    for module in MODULES:
        import_module(module)
    loop_owned.switch_on()
    gc.collect()
    gc.freeze()
    control = socket.socket(fileno=0)
    lives: dict[int, int] = {}  # process ids by pidfd
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd in lives:
                poll.unregister(fd)
                os.close(fd)
                pid, status = os.waitpid(lives.pop(fd), 0)
                control.send(json.dumps([pid, os.waitstatus_to_exitcode(status)]).encode())
                continue
            message = control.recv(MESSAGE)
            if not message:
                for pid in lives.values():
                    os.kill(pid, signal.SIGKILL)
                return
            pid = os.fork()
            if pid == 0:
                _live(Life(**json.loads(message)))
                return
            pidfd = os.pidfd_open(pid)
            lives[pidfd] = pid
            poll.register(pidfd, select.POLLIN)
            control.send(json.dumps([pid, None]).encode())


if __name__ == "__main__":
    main()
