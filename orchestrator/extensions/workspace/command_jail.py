"""Run one command in a jail, as a process with arguments ORDER REPORT_FD.

This process stays outside of the command's jail as the parent of everything that the command
starts, whatever session it chooses. Standard input is a lifeline: when it closes, when the command
ends or goes beyond a limit, all of its processes are killed. The report is a `CommandEnd`.

Where: is a command of a workspace confined?
"""

import ctypes
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from orchestrator.extensions.workspace.command_order import (
    MIB,
    CommandEnd,
    CommandLimits,
    CommandOrder,
)
from orchestrator.jail_broker.answered_calls import AnsweredCalls, send_listener
from thinker.jail import argument_checks, calls, hardening, kernel, landlock, limits, seccomp
from thinker.jail.landlock import Grants
from thinker.jail.seccomp import ArgumentCheck

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
CAPABILITIES_V3 = 0x20080522  # linux/capability.h
TICK = 0.05  # seconds between two looks at what the command uses
SIGNALED = 128  # added to the signal that ended a process, as a shell does
NICENESS = 5  # so that the daemon goes first
OPEN_FILES = 1024
SPARE_PROCESSES = 1024  # of the same user that may come in addition to the command's
MIN_FREE = 64 * MIB  # of the disk of the workspace, which is the journal's, too
PAGE = resource.getpagesize()
DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
SOURCES = ("/dev/random", "/dev/urandom")
DENIED = calls.list_group_calls(
    "others",
    "io_uring",
    "namespaces",
    "mounts",
    "kernel",
    "machine",
    "shared_memory",
    "priorities",
)
SENDING = (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3))  # where the flags stand
FAST_OPEN = 0x20000000  # MSG_FASTOPEN: data that connects
LED = (
    argument_checks.allow_families(socket.AF_INET),
    ArgumentCheck("socket", 1, (socket.SOCK_STREAM,), argument_checks.SOCKET_KIND),
    ArgumentCheck("socket", 2, (0, socket.IPPROTO_TCP)),
    *(ArgumentCheck(name, at, (0,), FAST_OPEN) for name, at in SENDING),
)
SOCKET_FAMILIES = (socket.AF_INET, socket.AF_INET6)


class NotJailedError(Exception):
    """The kernel lacks what the jail needs; the message says what."""


def main(order: CommandOrder, report: int) -> None:
    """Run the command to its end, kill what it leaves behind, and report."""
    os.set_inheritable(report, False)  # noqa: FBT003 - its only parameter
    end = CommandEnd(problem="it could not be started", refused=True)
    try:
        end = _run_command(order)
    except (NotJailedError, OSError) as error:
        end = CommandEnd(problem=str(error), refused=True)
    finally:
        os.write(report, end.to_json().encode())


def _run_command(order: CommandOrder) -> CommandEnd:
    kernel.prctl(PR_SET_CHILD_SUBREAPER, 1)
    alone = _enter_signal_domain()
    folders = [os.path.realpath(folder) for folder in order.write]
    answers = AnsweredCalls(folders, order.proxy)
    child = os.fork()
    if child == 0:
        answers.channel.close()
        _execute_command(order, answers.inside)
    answers.inside.close()
    hardening.harden_process()
    try:
        watched = _CommandWatch(child, order, answers)
        problem = watched.watch_command()
    finally:
        code = _kill_all(child, alone=alone)
    refusal = watched.changes.refusal
    if refusal:
        return CommandEnd(problem=refusal, refused=True)
    return CommandEnd(code if code >= 0 else SIGNALED - code, problem)


def _enter_signal_domain() -> bool:
    """Enter a domain of this process and what it starts; return whether signals cannot leave it.

    The parent is outside of the domain: it can be signaled before, and must not be afterwards.
    """
    parent = os.getppid()
    os.kill(parent, 0)
    landlock.restrict_access(Grants(all=("/",), connect=None, bind=None))
    try:
        os.kill(parent, 0)
    except PermissionError:
        return True
    return False


# --- inside ---------------------------------------------------------------------------------------


def _execute_command(order: CommandOrder, channel: socket.socket) -> None:
    """Turn this process into the command; tell the parent why if that fails."""
    problem = "it could not be jailed"
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null if order.stdin < 0 else order.stdin, 0)
        os.chdir(order.cwd)
        _apply_limits(order.limits)
        drop_capabilities()
        enter_jail(order, channel)
        channel.close()
        os.execve(order.argv[0], list(order.argv), dict(order.env))  # noqa: S606 - the order is the command
    except (NotJailedError, OSError, ValueError) as error:
        problem = f"{order.argv[0]}: {error}" if isinstance(error, OSError) else str(error)
    finally:
        with suppress(OSError):
            channel.send(problem.encode())
        os._exit(127)


def _apply_limits(given: CommandLimits) -> None:
    with suppress(PermissionError):  # a systemd unit may forbid to change priorities
        os.nice(NICENESS)
    used = _count_processes(os.getuid())
    limits.limit_resources(
        memory=given.memory,
        files=OPEN_FILES,
        processes=used + given.processes + SPARE_PROCESSES if given.processes else None,
        file_size=given.file_size,
        cpu_seconds=given.seconds,
    )


def _count_processes(user: int) -> int:
    """Return the number of a user's processes, without threads."""
    count = 0
    for entry in os.scandir("/proc"):
        with suppress(OSError):  # it ended meanwhile
            count += entry.name.isdecimal() and entry.stat().st_uid == user
    return count


def drop_capabilities() -> None:
    """Give up all capabilities permanently; only a daemon of root has any."""
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0)
    held, none = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    if kernel.LIBC.capget(header, held) == 0 and not any(held):
        return  # a systemd unit forbids the next call
    if kernel.LIBC.capset(header, none) != 0:
        raise NotJailedError("its capabilities cannot be dropped")


def enter_jail(order: CommandOrder, channel: socket.socket) -> None:
    """Confine this process and what it starts, and find out whether that worked."""
    direct = order.network and not order.proxy
    grants = Grants(
        read=(*order.read, *SOURCES),
        run=order.run,
        write=DEVICES,
        all=order.write,
        connect=None if direct else (),
        bind=None if direct else (),
    )
    lacking = landlock.restrict_access(grants)
    if "landlock" in lacking and order.jailed:
        raise NotJailedError(
            "this kernel has no Landlock, so commands could reach every file of the user;"
            ' set "sandbox": "off" in the agent\'s "workspace" to run them all the same'
        )
    if "scope" in lacking and order.jailed and os.getuid() == 0:
        raise NotJailedError(
            "this kernel cannot limit the processes of root's commands; run the daemon as another"
            " user, or on Linux 6.12 or newer"
        )
    denied, checks = DENIED, [argument_checks.NO_NAMESPACES, argument_checks.NO_TERMINAL_INPUT]
    checks += [*argument_checks.NO_DESCRIPTOR_OWNERS, *argument_checks.CONNECTED_PAIRS]
    checks.append(argument_checks.allow_own_limits())
    if direct:
        checks.append(argument_checks.allow_families(*SOCKET_FAMILIES))
    elif order.network:
        checks += LED
        denied |= {"bind", "listen", "accept", "accept4"}
    else:
        denied |= {"socket"}
    if "scope" in lacking or "landlock" in lacking:
        denied |= calls.list_group_calls("signals")  # they would reach every process of the user
    missing = seccomp.install_filter(seccomp.build_filter(denied, checks))
    try:
        send_listener(channel, connections=bool(order.proxy))
    except OSError:
        missing = ("seccomp",)
    if missing:
        raise NotJailedError("this kernel has no seccomp, so commands cannot be confined")
    _prove_jail(order)


def _prove_jail(order: CommandOrder) -> None:
    """Try what the jail forbids, instead of trusting that the jail is active.

    Raises:
        NotJailedError: a forbidden operation was possible.
    """
    attempts: dict[str, Callable[[], object]] = {
        "open sockets": lambda: socket.socket(socket.AF_UNIX),
        "signal other processes": lambda: os.kill(os.getppid(), 0),
    }
    if order.jailed:
        attempts["list all files"] = lambda: os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    for what, attempt in attempts.items():
        with suppress(PermissionError):
            attempt()
            raise NotJailedError(f"its jail does not hold: it can {what}")


# --- outside --------------------------------------------------------------------------------------


class _CommandWatch:
    """A running command; `watch_command` returns when it has ended or must be ended."""

    def __init__(self, child: int, order: CommandOrder, changes: AnsweredCalls) -> None:
        self._child = child
        self._limits = order.limits
        self._folder = order.cwd
        self.changes = changes
        self._deadline = time.monotonic() + order.limits.seconds

    def watch_command(self) -> str:
        """Return the reason to end the command, or an empty string if it ended by itself."""
        ended = os.pidfd_open(self._child)
        poll = select.poll()
        for fd in (ended, 0, self.changes.channel.fileno()):
            poll.register(fd, select.POLLIN)
        looked = 0.0
        try:
            while True:
                ready = {fd for fd, _ in poll.poll(TICK * 1000)}
                if ended in ready:
                    self.changes.receive_listener()
                    return ""
                if 0 in ready:
                    return "it was cancelled"
                self._serve_changes(poll, ready)
                if time.monotonic() - looked >= TICK:
                    looked = time.monotonic()
                    if problem := self._find_problem():
                        return problem
        finally:
            os.close(ended)

    def _serve_changes(self, poll: select.poll, ready: set[int]) -> None:
        """Take the listener when the command sends it, and answer the command's calls."""
        channel = self.changes.channel.fileno()
        if channel in ready:
            poll.unregister(channel)
            listener = self.changes.receive_listener()
            if listener is not None:
                poll.register(listener, select.POLLIN)
        elif self.changes.listener in ready and not self.changes.answer_call():
            poll.unregister(self.changes.listener)

    def _find_problem(self) -> str:
        if time.monotonic() > self._deadline:
            return f"it took more than {self._limits.seconds} seconds"
        if is_disk_full(self._folder):
            return f"less than {MIN_FREE // MIB} MiB of the disk are free"
        reaped = True
        while reaped:  # what the command left behind; the command itself is waited for at the end
            reaped = False
            with suppress(ChildProcessError):
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is not None and found.si_pid != self._child:
                    os.waitpid(found.si_pid, 0)
                    reaped = True
        tree = list_descendants(os.getpid(), self._limits.processes + 1)
        if self._limits.processes and len(tree) > self._limits.processes:
            return f"it had more than {self._limits.processes} processes"
        if sum(map(_measure_private_memory, tree)) > self._limits.memory:
            return f"it used more than {self._limits.memory // 1024**2} MiB of memory"
        return ""


def is_disk_full(folder: str) -> bool:
    """Return whether a command must not go on, because the daemon needs the free space."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize < MIN_FREE


def list_descendants(pid: int, most: int = 100_000) -> list[int]:
    """Return the processes below a process, at most about ``most``: its children at least."""
    found: list[int] = []
    queue = [pid]
    for parent in queue:  # grows
        if len(found) >= most:
            break
        with suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - names are enough
                children = Path(f"/proc/{parent}/task/{task}/children").read_bytes().split()
                queue += map(int, children)
                found += map(int, children)
    return found


def _measure_private_memory(pid: int) -> int:
    """Return the number of a process's private bytes in memory, as far as counted."""
    try:
        resident, shared = map(int, Path(f"/proc/{pid}/statm").read_bytes().split()[1:3])
    except (OSError, ValueError):
        return 0
    return (resident - shared) * PAGE


def _kill_all(command: int, *, alone: bool) -> int:
    """Kill all processes of the command until there are none; return its exit code.

    When signals stay inside, one call reaches all of them at an instant, and a process that forks
    meanwhile does not escape it. Otherwise the groups of the children are killed, each at an
    instant; the children of those that die come next.
    """
    code = 0
    while True:
        for target in [-1] if alone else _list_children_and_groups():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(target, signal.SIGKILL)
        try:
            pid, status = os.waitpid(-1, 0)
            while pid:
                if pid == command:
                    code = os.waitstatus_to_exitcode(status)
                pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code


def _list_children_and_groups() -> set[int]:
    """Return the children and their process groups, as targets of kill(2).

    A child that was not reaped keeps its number, and its group has members; numbers of other
    processes may be in use again. This process's own group is left out.
    """
    children = list_descendants(os.getpid(), most=1)
    groups = set()
    for pid in children:
        with suppress(ProcessLookupError, PermissionError):
            groups.add(os.getpgid(pid))
    return {*children, *(-group for group in groups - {os.getpgrp()} if group > 1)}


if __name__ == "__main__":
    main(CommandOrder.from_json(sys.argv[1]), int(sys.argv[2]))
