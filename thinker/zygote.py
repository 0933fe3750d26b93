"""``python -P -m thinker.zygote``: a warm worker process that forks workers on request.

The zygote has one thread and no event loop: it reads a line of JSON-RPC, answers, and reads the
next. The descriptors of a new worker arrive on a second socket, the zygote's standard input: the
wire, a file with the working directory and environment, which only the worker reads, and the
channel to the broker. So all workers inherit the same memory, without secrets. The broker is forked
in the same way: a message that names a module makes the new process run that program.

While idle, the zygote keeps one preforked worker that only needs its descriptors. Copying the pages
that a start writes to takes longer than the start itself; the preforked worker has already done
both.
"""

import faulthandler
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import orjson

from thinker.http.optional_imports import block_imports

with block_imports("rich", "click"):  # optional extras of structlog and others
    from thinker import startup
    from thinker.jail import kernel, worker_jail
    from thinker.jail.environment_block import ARGUMENTS, find_block, overwrite_block
    from thinker.jail.hardening import build_hardened_report, harden_process
    from thinker.jail.shared_objects import share_objects
    from thinker.protocol import logs, methods
    from thinker.protocol.env import (
        BROKER_VARIABLE,
        PROGRAM_WIRE,
        ThinkerSettings,
        unpack_start,
    )
    from thinker.protocol.methods import ForkedWorker, Ready, ReapedWorker
    from thinker.protocol.peer import FAILED
    from thinker.warmup import ROUNDS, rehearse_start, warm_up

EXIT_OSERR = 71  # sysexits.h
PR_SET_NAME = 15  # linux/prctl.h
DESCRIPTORS = 3  # of a new worker: wire, start and, for a model, its channel to the broker
WORKER = b"."  # the message that comes with them; of another program, the name of its module
MODULE_SIZE = 256  # bytes of such a name at most
STANDARD = 3  # descriptors: stdin, stdout, stderr
CONFIRMATION_SECONDS = 0.5  # for a preforked worker to confirm that it runs
REQUESTS = 65536  # bytes read at a time


@dataclass(frozen=True)
class PreforkedWorker:
    """A process that becomes a worker when it receives the worker's descriptors."""

    pid: int
    socket: socket.socket
    warm: bool

    def assign_descriptors(self, descriptors: list[int]) -> int:
        """Make the process a worker and return its pid; a warm one must confirm that it runs.

        Raises:
            OSError: the process was killed or stopped; it is now dropped.
        """
        try:
            with self.socket:
                socket.send_fds(self.socket, [b"."], descriptors)
                if self.warm:
                    self.socket.settimeout(CONFIRMATION_SECONDS)
                    if not self.socket.recv(1):
                        raise ConnectionResetError
        except OSError:
            self.kill()
            raise
        return self.pid

    def kill(self) -> None:
        """Kill the process, if it still runs, and reap it."""
        self.socket.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Zygote:
    """Answers one supervisor; the descriptors of new workers arrive on ``descriptors``."""

    def __init__(self, descriptors: socket.socket) -> None:
        self._descriptors = descriptors
        self._command_line = find_block(ARGUMENTS)
        self._pid = os.getpid()
        self._preforked: PreforkedWorker | None = None

    def serve_wire(self, wire: socket.socket) -> None:
        """Answer requests until the wire closes."""
        rest = b""
        self._prefork_next()
        while received := self._read_wire(wire):
            *lines, rest = (rest + received).split(b"\n")
            for line in lines:
                wire.sendall(self.answer_request(line))
            if not _poll_readable(0, wire):  # requests come first
                self._prefork_next()

    def _read_wire(self, wire: socket.socket) -> bytes:
        """Read from the wire; meanwhile reap a preforked worker that was killed."""
        while self._preforked is not None:
            if wire.fileno() in _poll_readable(None, wire, self._preforked.socket):
                break
            self._preforked.kill()
            self._preforked = None
        return wire.recv(REQUESTS)

    def answer_request(self, line: bytes) -> bytes:
        frame = orjson.loads(line)
        answer = {"jsonrpc": "2.0", "id": frame["id"]}
        handlers: dict[str, Callable[[], object]] = {
            methods.FORK: self._serve_fork,
            methods.REAP: lambda: _reap_worker(ForkedWorker.model_validate(frame["params"]).pid),
            methods.PING: lambda: None,
        }
        try:
            answer["result"] = handlers[frame["method"]]()
        except (OSError, ValueError) as error:
            answer["error"] = {"code": FAILED, "message": str(error)}
        return orjson.dumps(answer) + b"\n"

    def _serve_fork(self) -> dict[str, int]:
        message, received, _, _ = socket.recv_fds(self._descriptors, MODULE_SIZE, DESCRIPTORS)
        try:
            if message == WORKER:
                pid = self._fork_worker(received)
            else:
                pid = self._fork_program(message.decode(), *received)
        finally:
            for fd in received:
                os.close(fd)
        return ForkedWorker(pid=pid).model_dump()

    def _fork_worker(self, descriptors: list[int]) -> int:
        preforked, self._preforked = self._preforked, None
        if preforked is not None:
            with suppress(OSError):
                return preforked.assign_descriptors(descriptors)
        return self._prefork_worker(warm=False).assign_descriptors(descriptors)

    def _fork_program(self, module: str, wire: int, start: int, stdin: int) -> int:
        """Fork a process that runs a module's program, as an interpreter of its own would."""
        pid = os.fork()
        if pid == 0:
            _end_process(partial(self._run_program, module, wire, start, stdin))
        return pid

    def _run_program(self, module: str, wire: int, start: int, stdin: int) -> int:
        cwd, env = _read_start(start)
        os.setsid()
        kernel.die_with_parent(self._pid)
        os.dup2(stdin, 0)
        os.dup2(wire, PROGRAM_WIRE)
        os.closerange(PROGRAM_WIRE + 1, os.sysconf("SC_OPEN_MAX"))
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        time.tzset()
        self._set_title(module)
        gc.enable()
        importlib.import_module(f"{module}.__main__").main()
        return 0

    def _prefork_next(self) -> None:
        """Prefork a worker; if the system refuses, the next fork request reports it."""
        if self._preforked is None:
            with suppress(OSError):
                self._preforked = self._prefork_worker(warm=True)

    def _prefork_worker(self, *, warm: bool) -> PreforkedWorker:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                pid = os.fork()
            except OSError:
                ours.close()
                raise
            if pid == 0:
                self._run_worker(theirs.fileno(), warm=warm)
        return PreforkedWorker(pid, ours, warm)

    def _run_worker(self, handover: int, *, warm: bool) -> NoReturn:
        """Turn this forked process into a worker: session, descriptors, title, then run."""

        def run() -> int:
            os.setsid()
            kernel.die_with_parent(self._pid)
            _close_other_descriptors(handover)
            self._set_title("thinker")
            return startup.run_process(partial(self._become_worker, handover, warm=warm))

        _end_process(run)

    async def _become_worker(self, handover: int, *, warm: bool) -> int:
        if warm:
            rehearse_start()
        jail = worker_jail.prepare_jail()
        with socket.socket(fileno=handover) as zygote:
            # This blocks: there is nothing else to do.
            _, received, _, _ = socket.recv_fds(zygote, 1, DESCRIPTORS)
            if not received:  # the zygote has ended
                return 0
            if warm:
                zygote.send(b".")
        wire, start, *broker = received
        cwd, env = _read_start(start)
        os.close(start)
        os.chdir(cwd)
        env["THINKER_PEER_FD"] = str(wire)
        for fd in broker:
            env[BROKER_VARIABLE] = str(fd)
        # Nothing else reads the process's own environment: setting it costs each worker 40 pages.
        if "THINKER_HOOKS_DIR" in env or env.get("TZ") != os.environ.get("TZ"):
            os.environ.clear()
            os.environ.update(env)
            time.tzset()
        self._set_title(f"thinker: {env.get('THINKER_AGENT_ID', '')}")
        gc.enable()
        return await startup.run_worker(env, jail)

    def _set_title(self, title: str) -> None:
        """Set the title in ps and top, by overwriting this process's command line."""
        overwrite_block(self._command_line, (title,))
        kernel.prctl(PR_SET_NAME, self._command_line[0])


def _end_process(run: Callable[[], int]) -> NoReturn:
    """Run what a forked process is for, and end the process."""
    code = EXIT_OSERR
    try:
        code = run()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - this process must never continue as a zygote
        traceback.print_exc()
    finally:
        os._exit(code)


def _read_start(fd: int) -> tuple[str, dict[str, str]]:
    return unpack_start(os.pread(fd, os.fstat(fd).st_size, 0))


def _poll_readable(milliseconds: int | None, *sockets: socket.socket) -> set[int]:
    """Return the readable descriptors; uses poll, since select is limited to 1024."""
    poll = select.poll()
    for one in sockets:
        poll.register(one, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(milliseconds)}


def _close_other_descriptors(fd: int) -> None:
    """Close all descriptors except this one, stdout and stderr; stdin is empty."""
    os.closerange(STANDARD, fd)
    os.closerange(fd + 1, os.sysconf("SC_OPEN_MAX"))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def _reap_worker(pid: int) -> dict[str, int]:
    _, status = os.waitpid(pid, 0)
    return ReapedWorker(code=os.waitstatus_to_exitcode(status)).model_dump()


def main() -> None:
    """Warm up, then fork workers until the supervisor closes the wire."""
    faulthandler.enable()  # inherited by the workers
    harden_process()
    kernel.give_back_large_blocks()
    kernel.die_with_parent(os.getppid())
    logs.configure_logging("error")  # the rehearsal is not a real turn
    warm_up()
    own = ThinkerSettings.read(os.environ).list_own_paths()
    for _ in range(ROUNDS):
        worker_jail.rehearse_jail(own)
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise SystemExit("the zygote has threads, so it cannot fork safely")
    descriptors = socket.socket(fileno=0)
    wire = socket.socket(fileno=int(os.environ["THINKER_PEER_FD"]))
    zygote = Zygote(descriptors)
    gc.disable()
    gc.collect()
    share_objects(with_values=True)
    ready = Ready(
        pid=os.getpid(), provider="", model="", sandbox=build_hardened_report("it forks workers")
    ).model_dump()
    note = {"jsonrpc": "2.0", "method": methods.READY, "params": ready}
    with suppress(BrokenPipeError, ConnectionResetError):
        wire.sendall(orjson.dumps(note) + b"\n")
        zygote.serve_wire(wire)


if __name__ == "__main__":
    main()
