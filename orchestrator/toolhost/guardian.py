"""Run an MCP server and end all of its processes: ``python -I -S guardian.py PARENT COMMAND ARGS``.

Runs as a file, so that it imports nothing of this package. It stays as the parent of the server and
adopts what the server's processes leave behind, however often they fork and whatever session or
signals they choose. When the server ends, or the tool host dies or sends SIGHUP, it kills them all.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_CHILD_SUBREAPER = 36
STAT_SIZE = 4096  # bytes; a line of 52 numbers and a short name
NOT_FOUND = 127  # exit code, as of a shell
SIGNALED = 128  # added to the signal that ended the server, as a shell does
HANDLED = (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def die_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Make the kernel send this process a signal when its parent dies; kill it if it has died."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main(parent: int, command: list[str]) -> int:
    """Run ``command`` and return its exit code, once none of its processes is left."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    die_with(parent, signal.SIGHUP)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    guardian = os.getpid()
    server = os.fork()
    if server == 0:
        _execute(guardian, command)
    null = os.open(os.devnull, os.O_RDWR)
    for pipe in (0, 1):  # the server alone holds its pipes
        os.dup2(null, pipe)
    code = _watch(server)
    _end_children()
    return code


def _execute(guardian: int, command: list[str]) -> None:
    """Turn this process into the server; its session is not the tool host's."""
    os.setsid()
    die_with(guardian)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and that is inherited
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.execvp(command[0], command)  # noqa: S606 - a list of arguments, no shell
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        sys.stderr.write(f"cannot run {command[0]!r}: {problem}\n")
        sys.stderr.flush()
        os._exit(NOT_FOUND)


def _watch(server: int) -> int:
    """Reap what ends, until the server has ended or must; SIGTERM goes to its process group."""
    while (number := signal.sigwait(HANDLED)) != signal.SIGHUP:
        if number != signal.SIGCHLD:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(server, number)
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == server:
                code = os.waitstatus_to_exitcode(ended[1])
                return code if code >= 0 else SIGNALED - code
    return SIGNALED + signal.SIGKILL


def _end_children() -> None:
    """Kill all children until there are none; those of a child that dies become children."""
    with suppress(ChildProcessError):
        while True:
            for pid in _children():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    """Return the processes whose parent this is (proc_pid_stat(5), field 4)."""
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    return [pid for pid in pids if _parent(pid) == os.getpid()]


def _parent(pid: int) -> int:
    """Return the parent of a process, 0 if it has ended."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return 0
    try:
        return int(os.read(file, STAT_SIZE).rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0
    finally:
        os.close(file)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
