"""Fork a child of this process that waits to become a program: it shares what is imported already.

The first zygote is one, and the zygote, broker and tool host of a self-test's daemon are. A spare
is forked before this process reads a key: all that it could know of this process's environment is
erased. It shares the layout of its addresses with this process, as workers do with their zygote.
"""

import os
import runpy
import signal
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import NoReturn

from orchestrator.processes.child_process import Program
from thinker.http.optional_imports import block_imports
from thinker.jail import kernel
from thinker.jail.environment_block import (
    ARGUMENTS,
    ENVIRONMENT,
    erase_environment,
    find_block,
    overwrite_block,
)
from thinker.protocol.env import NO_PLUGINS, PROGRAM_WIRE, pack_start, unpack_start

MESSAGE = 1 << 16  # bytes of a message at most


class ForkedSpare:
    """A child that waits to become ``python -P -m MODULE``; see `child_process.Spare`.

    It imports other ``modules`` before it waits.
    """

    def __init__(self, module: str, modules: Iterable[str] = ()) -> None:
        self.argv: tuple[str, ...] = (sys.executable, "-P", "-m", module)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            kernel.die_with_parent(parent)
            _run_spare(module, modules, theirs)
        theirs.close()
        self._pidfd, self._socket = os.pidfd_open(self.pid), ours

    def run_program(self, program: Program, fd: int) -> None:
        """Let the child run the program, with a copy of ``fd`` as its socket."""
        start = pack_start(program.cwd, {**program.env, program.fd_variable: str(PROGRAM_WIRE)})
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


def _run_spare(module: str, modules: Iterable[str], receiver: socket.socket) -> NoReturn:
    """Wait for a program; then run its module as an interpreter does."""
    os.setsid()
    _keep_descriptors(receiver.detach())
    erase_environment()
    os.environ.update(NO_PLUGINS)
    if not sys.flags.safe_path:
        del sys.path[0]  # what -P leaves out
    with block_imports("rich", "click"):
        for name in modules:
            import_module(name)
    with socket.socket(fileno=PROGRAM_WIRE) as waiting:
        start, received, _, _ = socket.recv_fds(waiting, MESSAGE, 2)
    if not received:
        exit_process(0)  # the daemon has ended, or does not need it
    for fd, number in zip(received, (PROGRAM_WIRE, 0), strict=True):
        os.dup2(fd, number)
    os.closerange(PROGRAM_WIRE + 1, os.sysconf("SC_OPEN_MAX"))
    cwd, env = unpack_start(start)
    exit_process(run_module(module, env, cwd))


def _keep_descriptors(receiver: int) -> None:
    """Close all descriptors but the receiver's and standard error, where stray prints go as well.

    Standard input is empty.
    """
    os.dup2(receiver, PROGRAM_WIRE)
    os.closerange(PROGRAM_WIRE + 1, os.sysconf("SC_OPEN_MAX"))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)


def run_module(module: str, environ: Mapping[str, str], folder: str, *arguments: str) -> int:
    """Run a module as ``python -m`` does, with this environment, in this folder.

    Return its exit code.
    """
    os.environ.clear()
    os.environ.update(environ)
    overwrite_block(find_block(ARGUMENTS), (sys.executable, "-P", "-m", module, *arguments))
    variables = (f"{name}={value}" for name, value in environ.items())
    overwrite_block(find_block(ENVIRONMENT), variables)
    time.tzset()
    os.chdir(folder)
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, str):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    return 0


def exit_process(code: int) -> NoReturn:
    """End this process; the interpreter's own shutdown would copy most of the memory."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
