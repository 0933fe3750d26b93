"""Try from inside a process what it could do to others, without changing anything.

The attempts run anywhere: in a worker's hook, a child of an MCP server, a process without a jail.
"""

import errno
import os
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path

from thinker.jail import kernel, seccomp

REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EXDEV)
CLONE_NEWUSER = 0x10000000  # linux/sched.h
PTRACE_SEIZE = 0x4206  # linux/ptrace.h; it does not stop the process
PRIO_PROCESS = 0
CLOSED_PORT = 1  # on loopback; nothing serves it
MISSING_PROGRAM = "/nonexistent"
Attempt = Callable[[], object]


def try_attempts(
    pids: Mapping[str, int], paths: Mapping[str, str | Path]
) -> list[tuple[str, bool]]:
    """Return each attempt's name and whether the attempt succeeded.

    ``pids`` are other processes, ``paths`` files, folders and sockets, both keyed by name. Attempts
    on missing ones are left out.
    """
    processes = (
        (f"{name}: {what}", attempt)
        for name, pid in pids.items()
        for what, attempt in _iter_process_attempts(pid)
    )
    files = (
        (f"{name}: {what}", attempt)
        for name, path in paths.items()
        for what, attempt in _iter_path_attempts(path)
    )
    attempts = chain(processes, files, _iter_machine_attempts())
    found = ((name, _is_allowed(attempt)) for name, attempt in attempts)
    return [(name, success) for name, success in found if success is not None]


def _is_allowed(attempt: Attempt) -> bool | None:
    """Return whether the kernel allows an attempt; None if the target does not exist."""
    try:
        attempt()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            return None
        return error.errno not in REFUSED
    return True


def _iter_process_attempts(pid: int) -> Iterator[tuple[str, Attempt]]:
    """Yield the attempts on a process."""
    for name in ("environ", "mem", "maps"):
        yield name, partial(_read_byte, f"/proc/{pid}/{name}")
    yield "descriptors", partial(os.readlink, f"/proc/{pid}/fd/0")
    yield "ptrace", partial(_fork_if_possible, partial(_call_kernel, "ptrace", PTRACE_SEIZE, pid))
    yield "pidfd", partial(_take_descriptor, pid)
    yield "kill", partial(os.kill, pid, 0)
    yield "priority", partial(_keep_priority, pid)
    yield "limits", partial(_read_limits, pid)


def _iter_path_attempts(path: str | Path) -> Iterator[tuple[str, Attempt]]:
    """Yield the attempts on a file, folder or socket, which keeps its mode."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - text and paths alike
    except OSError:
        return
    yield "mode", partial(os.chmod, path, stat.S_IMODE(mode))
    if stat.S_ISSOCK(mode):
        yield "connect", partial(_connect_socket, path)
    elif stat.S_ISDIR(mode):
        yield "list", partial(os.listdir, path)
        yield "write", partial(_create_file, path)
    else:
        yield "read", partial(_read_byte, path)
        yield "write", lambda: os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))


def _iter_machine_attempts() -> Iterator[tuple[str, Attempt]]:
    """Yield the attempts on the machine."""
    yield "TCP", partial(_connect_tcp, CLOSED_PORT)
    yield "socket", lambda: socket.socket(socket.AF_UNIX).close()
    yield "netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
    yield "shared memory", partial(_call_kernel, "shmget")
    yield "fork", partial(_run_forked, lambda: None)
    yield "exec", _execute_missing
    yield "unshare", _unshare_user
    for name in ("io_uring_setup", "bpf", "perf_event_open", "userfaultfd", "keyctl"):
        yield name, partial(_call_kernel, name)


def _read_byte(path: str | Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # nothing is mapped at the beginning of a memory
            os.read(fd, 1)
    finally:
        os.close(fd)


def _call_kernel(name: str, *arguments: int) -> None:
    """Make a system call; an error about its arguments shows that it is allowed."""
    kernel.syscall(*seccomp.list_call_numbers([name]), *arguments)


def _take_descriptor(pid: int) -> None:
    fd = os.pidfd_open(pid)
    try:
        _call_kernel("pidfd_getfd", fd, 0, 0)
    finally:
        os.close(fd)


def _keep_priority(pid: int) -> None:
    os.setpriority(PRIO_PROCESS, pid, os.getpriority(PRIO_PROCESS, pid))


def _read_limits(pid: int) -> None:
    _call_kernel("prlimit64", pid, 0, 0, 0)


def _connect_socket(path: str | Path) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def _create_file(folder: str | Path) -> None:
    os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _connect_tcp(port: int) -> None:
    with socket.socket() as client:
        client.connect(("127.0.0.1", port))


def _execute_missing() -> None:
    """Execute a program that does not exist: a jail refuses before the kernel looks for it."""
    try:
        os.execv(MISSING_PROGRAM, [MISSING_PROGRAM])  # noqa: S606 - see above
    except FileNotFoundError:
        return


def _fork_if_possible(action: Attempt) -> None:
    """Run an action in a forked process, whose end undoes it, or here if forking is denied."""
    try:
        _run_forked(action)
    except PermissionError:
        action()


def _unshare_user() -> None:
    try:
        _run_forked(partial(_call_kernel, "unshare", CLONE_NEWUSER))
    except PermissionError:
        _call_kernel("unshare", 0)  # no namespace, which changes nothing


def _run_forked(action: Attempt) -> None:
    """Run an action in a forked process.

    Raises:
        OSError: forking or the action failed.
    """
    pid = os.fork()
    if pid == 0:
        code = errno.EPERM
        try:
            action()
            code = 0
        except OSError as error:
            code = error.errno or errno.EPERM
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, os.strerror(code) if code > 0 else "killed")
