"""``python -P -m thinker.zygote``: a worker that is warm already, and forks one on request.

One thread and no event loop of its own: it waits for a line of JSON-RPC, answers it, and waits
again. Descriptors of a new worker come over a second socket, its standard input: the wire, and a
file with its working directory and environment that the worker alone reads. What all workers
inherit is thus the same for all, and no secret.
"""

import ctypes
import faulthandler
import gc
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import anyio
import orjson

from thinker.protocol.extras import without

with without("rich", "click"):  # structlog and httpx take them along, for colours of their own
    from thinker import worker
    from thinker.protocol import logs, methods
    from thinker.protocol.env import unpacked
    from thinker.protocol.methods import Forked, Ready, Reaped
    from thinker.protocol.peer import FAILED
    from thinker.rehearsal import rehearse

EXIT_OSERR = 71  # sysexits.h
PR_SET_NAME = 15  # linux/prctl.h
ROUNDS = 12  # of the rehearsal: CPython specialises what runs often, which writes to its pages
STANDARD = 3  # descriptors: input, output, errors
ARG_START, ARG_END = 45, 46  # of what follows the name in proc_pid_stat(5), where they are 48, 49


class Zygote:
    """Answers one supervisor; ``descriptors`` is where those of new workers come from."""

    def __init__(self, descriptors: socket.socket) -> None:
        self._descriptors = descriptors
        self._title = _title_place()
        self._pid = os.getpid()

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
            pid = os.fork()
            if pid == 0:
                self._become_worker(wire, start)
        finally:
            for fd in received:
                os.close(fd)
        return Forked(pid=pid).model_dump()

    def _become_worker(self, wire: int, start: int) -> NoReturn:
        """Be what a new process would be: own session, environment, descriptors, title."""
        code = EXIT_OSERR
        try:
            os.setsid()
            worker.die_with(self._pid)
            cwd, env = unpacked(os.pread(start, os.fstat(start).st_size, 0))
            os.closerange(STANDARD, wire)
            os.closerange(wire + 1, os.sysconf("SC_OPEN_MAX"))
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.close(null)
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update({**env, "THINKER_PEER_FD": str(wire)})
            time.tzset()
            self._set_title(f"thinker: {env.get('THINKER_AGENT_ID', '')}")
            gc.enable()
            code = worker.main(os.environ)
            sys.stdout.flush()
        except BaseException:  # noqa: BLE001 - this process must never go on as a zygote
            traceback.print_exc()
        finally:
            os._exit(code)

    def _set_title(self, title: str) -> None:
        """What ps and top show: the bytes of our own command line, as long as there are."""
        start, size = self._title
        text = title.encode()
        worker.LIBC.prctl(PR_SET_NAME, text)
        ctypes.memmove(start, text[: size - 1].ljust(size, b"\0"), size)


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
    worker.die_with(os.getppid())
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
    gc.freeze()
    ready = Ready(pid=os.getpid(), provider="", model="").model_dump()
    note = {"jsonrpc": "2.0", "method": methods.READY, "params": ready}
    with suppress(BrokenPipeError, ConnectionResetError), wire.makefile("rb") as lines:
        wire.sendall(orjson.dumps(note) + b"\n")
        for line in lines:
            wire.sendall(zygote.answer(line))


if __name__ == "__main__":
    main()
