"""``python -P -m thinker.zygote``: a worker that is warm already, and forks one on request.

One thread and no event loop of its own: it waits for a line of JSON-RPC, answers it, and waits
again. Descriptors of a new worker come over a second socket, its standard input: the wire, and a
file with its working directory and environment that the worker alone reads. What all workers
inherit is thus the same for all, and no secret.

While nothing is asked it keeps one process in stock that only has to be told whose worker it is.
To copy the pages that a start writes to takes longer than the start, so that one has done it.
"""

import ctypes
import faulthandler
import gc
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

import anyio
import orjson

from thinker.http.optional_imports import without

with without("rich", "click"):  # structlog and httpx take them along, for colours of their own
    from thinker import startup
    from thinker.protocol import logs, methods
    from thinker.protocol.env import unpack_start
    from thinker.protocol.methods import Forked, Ready, Reaped
    from thinker.protocol.peer import FAILED
    from thinker.warmup import rehearse, rehearse_start

EXIT_OSERR = 71  # sysexits.h
PR_SET_NAME = 15  # linux/prctl.h
ROUNDS = 12  # of the rehearsal: CPython specialises what runs often, which writes to its pages
GAPS = 300  # filled of each size; more made no difference to a worker's memory
STANDARD = 3  # descriptors: input, output, errors
PATIENCE = 0.5  # seconds that a process that was kept gets to hear that it is a worker
REQUESTS = 65536  # bytes that are read at once
ARG_START, ARG_END = 45, 46  # of what follows the name in proc_pid_stat(5), where they are 48, 49
_filling: list[bytes] = []


@dataclass(frozen=True)
class PreforkedWorker:
    """A process that becomes a worker when it is sent that one's descriptors."""

    pid: int
    socket: socket.socket
    warm: bool

    def assign(self, descriptors: list[int]) -> None:
        """Make it a worker; whether one that was kept lives and runs is found out by its answer.

        Raises:
            OSError: it was killed, or is stopped.
        """
        with self.socket:
            socket.send_fds(self.socket, [b"."], descriptors)
            if self.warm:
                self.socket.settimeout(PATIENCE)
                if not self.socket.recv(1):
                    raise ConnectionResetError

    def drop(self) -> None:
        """End it, which may have happened, and reap it."""
        self.socket.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Zygote:
    """Answers one supervisor; ``descriptors`` is where those of new workers come from."""

    def __init__(self, descriptors: socket.socket) -> None:
        self._descriptors = descriptors
        self._title = _title_place()
        self._pid = os.getpid()
        self._spare: PreforkedWorker | None = None

    def serve(self, wire: socket.socket) -> None:
        """Answer requests until the wire ends."""
        rest = b""
        self._keep_spare()
        while received := self._received(wire):
            *lines, rest = (rest + received).split(b"\n")
            for line in lines:
                wire.sendall(self.answer(line))
            if not _readable(0, wire):  # else there is something better to do
                self._keep_spare()

    def _received(self, wire: socket.socket) -> bytes:
        """What comes next; a spare process that is killed meanwhile is reaped."""
        while self._spare is not None:
            if wire.fileno() in _readable(None, wire, self._spare.socket):
                break
            self._spare.drop()
            self._spare = None
        return wire.recv(REQUESTS)

    def answer(self, line: bytes) -> bytes:
        """The answer to one request."""
        frame = orjson.loads(line)
        answer = {"jsonrpc": "2.0", "id": frame["id"]}
        handlers: dict[str, Callable[[], object]] = {
            methods.FORK: self._fork,
            methods.REAP: lambda: _reap(Forked.model_validate(frame["params"]).pid),
            methods.PING: lambda: None,
        }
        try:
            answer["result"] = handlers[frame["method"]]()
        except (OSError, ValueError) as error:
            answer["error"] = {"code": FAILED, "message": str(error)}
        return orjson.dumps(answer) + b"\n"

    def _fork(self) -> dict[str, int]:
        _, received, _, _ = socket.recv_fds(self._descriptors, 1, 2)
        try:
            wire, start = received
            pid = self._worker([wire, start])
        finally:
            for fd in received:
                os.close(fd)
        return Forked(pid=pid).model_dump()

    def _worker(self, descriptors: list[int]) -> int:
        kept, self._spare = self._spare, None
        if kept is not None:
            with suppress(OSError):
                return self._told(kept, descriptors)
        return self._told(self._new(warm=False), descriptors)

    def _told(self, spare: PreforkedWorker, descriptors: list[int]) -> int:
        try:
            spare.assign(descriptors)
        except OSError:
            spare.drop()
            raise
        return spare.pid

    def _keep_spare(self) -> None:
        """Have one; the system may refuse, and says so again when a worker is wanted."""
        if self._spare is None:
            with suppress(OSError):
                self._spare = self._new(warm=True)

    def _new(self, *, warm: bool) -> PreforkedWorker:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                pid = os.fork()
            except OSError:
                ours.close()
                raise
            if pid == 0:
                self._become_worker(theirs.fileno(), warm=warm)
        return PreforkedWorker(pid, ours, warm)

    def _become_worker(self, told: int, *, warm: bool) -> NoReturn:
        """Be what a new process would be: own session, environment, descriptors, title."""
        code = EXIT_OSERR
        try:
            os.setsid()
            startup.die_with(self._pid)
            _keep_open(told)
            self._set_title("thinker")
            code = startup.run(partial(self._work, told, warm=warm))
            sys.stdout.flush()
        except BaseException:  # noqa: BLE001 - this process must never go on as a zygote
            traceback.print_exc()
        finally:
            os._exit(code)

    async def _work(self, told: int, *, warm: bool) -> int:
        if warm:
            rehearse_start()
        with socket.socket(fileno=told) as own:
            _, received, _, _ = socket.recv_fds(own, 1, 2)  # nothing else can happen before
            if not received:  # the zygote has ended
                return 0
            if warm:
                own.send(b".")
        wire, start = received
        cwd, env = unpack_start(os.pread(start, os.fstat(start).st_size, 0))
        os.close(start)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update({**env, "THINKER_PEER_FD": str(wire)})
        time.tzset()
        self._set_title(f"thinker: {env.get('THINKER_AGENT_ID', '')}")
        gc.enable()
        return await startup.work(os.environ)

    def _set_title(self, title: str) -> None:
        """What ps and top show: the bytes of our own command line, as long as there are."""
        start, size = self._title
        text = title.encode()
        startup.LIBC.prctl(PR_SET_NAME, text)
        ctypes.memmove(start, text[: size - 1].ljust(size, b"\0"), size)


def _readable(milliseconds: int | None, *sockets: socket.socket) -> set[int]:
    """Which of the descriptors can be read, waited for; not by select, which knows 1024 of them."""
    poll = select.poll()
    for one in sockets:
        poll.register(one, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(milliseconds)}


def _fill_gaps() -> None:
    """Fill the gaps that were left in memory, which is shared as long as nobody writes to it.

    What a worker makes then lies together, on few pages of its own. CPython has a kind of page for
    every 16 bytes of size up to 512 (Objects/obmalloc.c), and bytes have 33 more than they say.
    """
    _filling.extend(bytes(size - 33) for size in range(48, 513, 16) for _ in range(GAPS))


def _keep_open(fd: int) -> None:
    """Close all descriptors but this one, the output and the errors; there is no input."""
    os.closerange(STANDARD, fd)
    os.closerange(fd + 1, os.sysconf("SC_OPEN_MAX"))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def _title_place() -> tuple[int, int]:
    """Address and size of this process's command line."""
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = int(fields[ARG_START]), int(fields[ARG_END])
    return start, end - start


def _reap(pid: int) -> dict[str, int]:
    _, status = os.waitpid(pid, 0)
    return Reaped(code=os.waitstatus_to_exitcode(status)).model_dump()


def main() -> None:
    """Warm up, then fork workers until the supervisor ends the wire."""
    faulthandler.enable()  # inherited by the workers
    startup.die_with(os.getppid())
    logs.configure("error")  # the rehearsal is nobody's turn
    for _ in range(ROUNDS):
        anyio.run(rehearse)
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise SystemExit("the zygote has threads, so that it cannot fork safely")
    descriptors = socket.socket(fileno=0)
    wire = socket.socket(fileno=int(os.environ["THINKER_PEER_FD"]))
    zygote = Zygote(descriptors)
    # What is frozen is not touched by the workers' collections, and so stays shared memory.
    gc.disable()
    gc.collect()
    _fill_gaps()
    gc.freeze()
    ready = Ready(pid=os.getpid(), provider="", model="").model_dump()
    note = {"jsonrpc": "2.0", "method": methods.READY, "params": ready}
    with suppress(BrokenPipeError, ConnectionResetError):
        wire.sendall(orjson.dumps(note) + b"\n")
        zygote.serve(wire)


if __name__ == "__main__":
    main()
