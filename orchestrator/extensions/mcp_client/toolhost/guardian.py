"""Run an MCP server and end all of its processes: ``python -I -S guardian.py PARENT COMMAND ARGS``.

Runs as a file, without third-party packages, so that it starts fast. It stays as the parent of the
server and adopts what the server's processes leave behind, however often they fork and whatever
session or signals they choose. When the server ends, or the tool host dies or sends SIGHUP, it
kills them all. The server's jail closes around it before it begins.

When the tool host dies, the kernel sends SIGCONT: a guardian that is stopped goes on, and kills all
that it has adopted, which SIGKILL would set free. A server itself gets SIGKILL.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/orchestrator/")[0])

from thinker.jail.hardening import harden_process

if TYPE_CHECKING:
    from orchestrator.jail_broker.answered_calls import AnsweredCalls

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_CHILD_SUBREAPER = 36
STAT_SIZE = 4096  # bytes; a line of 52 numbers and a short name
NOT_FOUND = 127  # exit code, as of a shell
REFUSED = 78  # exit code, EX_CONFIG of sysexits.h
SIGNALED = 128  # added to the signal that ended the server, as a shell does
OOM_SCORE = b"300"  # above the daemon's: when memory runs out, servers end first
# In the environment, and not in the server's: descriptors of the jail's order and its report.
ORDER, REPORT = "ORCHESTRATOR_JAIL", "ORCHESTRATOR_JAIL_REPORT"
PROXY = "ORCHESTRATOR_JAIL_PROXY"  # the port that all of its connections lead to
HANDLED = (signal.SIGCHLD, signal.SIGCONT, signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def die_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Make the kernel signal this process when its parent dies; end it if the parent has died."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main(parent: int, command: list[str]) -> int:
    """Run ``command`` and return its exit code, once all its processes have ended."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    die_with(parent, signal.SIGCONT)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    _raise_oom_score()
    harden_process()
    order, report = (int(os.environ.pop(name)) for name in (ORDER, REPORT))
    port = int(os.environ.pop(PROXY, "0"))
    folders = os.pread(order, os.fstat(order).st_size, 0).decode().split("\0")[1:]
    calls = _build_answered_calls(folders, port) if folders else None
    guardian = os.getpid()
    server = os.fork()
    if server == 0:
        _execute_server(guardian, command, order, report, calls)
    if calls is not None:
        calls.inside.close()
        calls.start()
    os.close(order)
    os.close(report)
    null = os.open(os.devnull, os.O_RDWR)
    for pipe in (0, 1):  # the server alone holds its pipes
        os.dup2(null, pipe)
    code = _watch_server(server, parent)
    _end_children()
    return code


def _raise_oom_score() -> None:
    with suppress(OSError):  # the score is higher already
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(file, OOM_SCORE)
        os.close(file)


def _build_answered_calls(folders: list[str], port: int) -> "AnsweredCalls":
    from orchestrator.jail_broker.answered_calls import AnsweredCalls  # noqa: PLC0415 - not for all servers

    return AnsweredCalls(folders, port, ownership=True)


def _execute_server(
    guardian: int,
    command: list[str],
    order: int,
    report: int,
    calls: "AnsweredCalls | None",
) -> None:
    """Turn this process into the server, in its jail; its session is not the tool host's."""
    os.setsid()
    die_with(guardian)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and that is inherited
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    from orchestrator.extensions.mcp_client.toolhost.jail import enter_as_ordered  # noqa: PLC0415 - not for the guardian: half its memory

    why_not = enter_as_ordered(order, report, calls.inside if calls else None)
    if why_not:
        _exit_with_problem(why_not)
    try:
        os.execvp(command[0], command)  # noqa: S606 - a list of arguments, no shell
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        _exit_with_problem(f"cannot run {command[0]!r}: {problem}", NOT_FOUND)


def _exit_with_problem(problem: str, code: int = REFUSED) -> None:
    sys.stderr.write(f"{problem}\n")
    sys.stderr.flush()
    os._exit(code)


def _watch_server(server: int, parent: int) -> int:
    """Reap what ends, until the server has ended or must; SIGTERM goes to its process group."""
    while (number := signal.sigwait(HANDLED)) != signal.SIGHUP and os.getppid() == parent:
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
            for pid in _list_children():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _list_children() -> list[int]:
    """Return the processes whose parent this is (proc_pid_stat(5), field 4)."""
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    return [pid for pid in pids if _read_parent(pid) == os.getpid()]


def _read_parent(pid: int) -> int:
    """Return the parent of a process, or 0 if the process has ended."""
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
