"""Apply the jails of the tool host and its servers, and prove them from inside.

The daemon's home is out of reach, except what belongs to the server; so are the memory, the
descriptors and, from Linux 6.12 on, the signals of every process that is not the server's own.
"""

import errno
import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TypeAlias

from orchestrator.extensions.mcp_client.toolhost.capabilities import OF_FILES, keep_capabilities
from orchestrator.extensions.mcp_client.toolhost.jail_order import JailOrder, Surroundings
from orchestrator.extensions.mcp_client.toolhost.known_places import list_code_folders
from orchestrator.jail_broker.answered_calls import send_listener
from thinker.jail import kernel, landlock, limits, seccomp
from thinker.jail.argument_checks import (
    NO_NAMESPACES,
    OWN_LIMITS,
    TIOCLINUX,
    TIOCSTI,
    allow_families,
)
from thinker.jail.calls import list_group_calls
from thinker.jail.landlock import Grants
from thinker.jail.seccomp import ArgumentCheck
from thinker.protocol.sandbox import SandboxReport

MEMORY = 4 * 1024**3  # bytes of data of one process; Node.js and browsers need less
PROCESSES = 1024  # beyond what the user has when a server starts
# The tool host follows its servers by descriptors; a browser's own jail uses chroot.
DENIED = list_group_calls("io_uring", "kernel", "machine", "mounts", "others") - {
    "pidfd_open",
    "pidfd_send_signal",
    "chroot",
}
CHECKS = (
    ArgumentCheck("ioctl", 1, (TIOCSTI, TIOCLINUX), refused=True),
    *OWN_LIMITS,
)
TCP = (0, socket.IPPROTO_TCP)
Attempt: TypeAlias = Callable[[], object]
# Denied, nothing there, or a file system without writing.
REFUSED = (errno.EPERM, errno.EACCES, errno.ENOENT, errno.ESRCH, errno.EROFS, errno.EOPNOTSUPP)
SERVING = frozenset({"bind", "listen", "accept", "accept4"})
KIND = 0xF  # of a socket, without flags
FASTOPEN = 0x20000000  # MSG_FASTOPEN: data that connects


def enter_host_jail(around: Surroundings, supervisor: int) -> SandboxReport:
    """Jail the tool host, before it has a second thread; its folders in the home exist."""
    keep_capabilities(OF_FILES)
    home = around.home
    landlock.restrict_access(
        Grants(
            run=[*around.run, *list_code_folders(), f"{home}/skills", f"{home}/agents"],
            write=["/proc"] if os.getuid() else [],  # see `JailOrder.build_grants`
            all=[*around.write, *list_own_folders(home)],
            connect=None,
            bind=None,
        )
    )
    seccomp.install_filter(seccomp.build_filter(DENIED, CHECKS, missing=()))
    return probe_jail(home, supervisor)


def list_own_folders(home: str) -> list[Path]:
    """List the folders of a home in which servers may write; each must exist to be granted."""
    return [Path(home, name) for name in ("servers", "workspaces")]


def enter_as_ordered(file: int, report: int, channel: socket.socket | None) -> str:
    """Jail this process by the order in a file, and report.

    Returns the reason why the process must not go on, or an empty string. ``channel`` leads to the
    guardian, which answers calls that no filter can judge.
    """
    order = JailOrder.unpack(os.pread(file, os.fstat(file).st_size, 0).decode())
    os.close(file)
    try:
        found = enter_server_jail(order, channel)
    except OSError as error:
        return f"its connections cannot be led to the proxy ({error}); allow all or none"
    os.write(report, json.dumps(asdict(found)).encode())
    os.close(report)
    if order.required and found.level != "full":
        return f'its jail is "{found.level}" ({found.reason}), but agents.json requires "full"'
    return ""


def enter_server_jail(order: JailOrder, channel: socket.socket | None) -> SandboxReport:
    """Jail this process, which is about to become the server.

    Raises:
        OSError: the server may reach only some hosts, and the kernel cannot restrict it to them.
    """
    limits.limit_resources(memory=MEMORY, processes=_count_user_threads() + PROCESSES)
    if order.off:
        # A jail of nothing: other servers, which are in jails beside it, stay out of its reach.
        landlock.restrict_access(Grants(all=["/"], connect=None, bind=None))
        return SandboxReport("off", "agents.json says so")
    with suppress(OSError):  # the probe notices
        landlock.Ruleset(order.build_grants()).enforce_ruleset()
    denied = DENIED | list_group_calls("shared_memory")
    denied |= SERVING if order.network == "proxy" else frozenset()
    checks = (*CHECKS, *_list_network_checks(order))
    missing = frozenset[str]()
    if not order.namespaces:
        denied |= list_group_calls("namespaces")
        checks, missing = (*checks, NO_NAMESPACES), frozenset({"clone3"})
    seccomp.install_filter(seccomp.build_filter(denied, checks, missing=missing))
    if channel is not None:
        try:
            send_listener(channel, connections=bool(order.proxy))
        except OSError:
            if order.proxy:
                raise
    return probe_jail(order.home, order.supervisor, order, changes=channel is not None)


def _list_network_checks(order: JailOrder) -> Iterator[ArgumentCheck]:
    local = (socket.AF_UNIX,) if order.sockets else ()
    if order.network == "open":
        yield allow_families(socket.AF_INET, socket.AF_INET6, *local)
        return
    if order.network == "none":
        yield allow_families(*local)
        return
    yield allow_families(socket.AF_INET, *local)
    yield ArgumentCheck("socket", 1, (socket.SOCK_STREAM,), KIND)
    yield ArgumentCheck("socket", 2, TCP)
    for call, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        yield ArgumentCheck(call, flags, (0,), FASTOPEN)


def _count_user_threads() -> int:
    """Count this user's threads, to which the limit of processes applies."""
    count = 0
    with os.scandir("/proc") as entries:
        for entry in entries:
            with suppress(OSError):  # it ended
                if entry.name.isdecimal() and entry.stat().st_uid == os.getuid():
                    count += sum(1 for _ in os.scandir(f"{entry.path}/task"))
    return count


def probe_jail(
    home: str, supervisor: int, order: JailOrder | None = None, *, changes: bool = False
) -> SandboxReport:
    """Try forbidden operations, and judge the jail by what was refused.

    ``order`` is the jail of a server, ``changes`` whether a guardian answers for changed modes.
    """
    calls = [name for name, attempt in _list_call_attempts(order) if _is_possible(attempt)]
    if changes and _is_possible(partial(_keep_mode, home)):
        calls.append("chmod")
    attempts = [*_list_file_attempts(home, supervisor), *_list_place_attempts(order)]
    files = [name for name, attempt in attempts if _is_possible(attempt)]
    signals = _is_possible(partial(os.kill, supervisor, 0))
    if files:
        missing = landlock.read_abi_version() == 0
        reason = "the kernel has no Landlock" if missing else f"it can open {', '.join(files)}"
        return SandboxReport("keys-only" if calls else "no-landlock", reason)
    if calls:
        return SandboxReport("keys-only", f"seccomp does not hold: {', '.join(calls)}")
    return SandboxReport("full", "signals reach other processes" if signals else "")


def _list_file_attempts(home: str, supervisor: int) -> Iterable[tuple[str, Attempt]]:
    for path in (home, f"{home}/run", f"/proc/{supervisor}/environ"):
        yield path, partial(_try_open, path)


def _list_place_attempts(order: JailOrder | None) -> Iterable[tuple[str, Attempt]]:
    """Yield the attempts on what a server must not read, and on what it must not write."""
    if order is None:
        return
    for path in order.closed:
        yield path, partial(_try_open, path)
    for path in order.fixed:
        yield f"{path} for writing", partial(_try_write, path)


def _list_call_attempts(order: JailOrder | None) -> Iterable[tuple[str, Attempt]]:
    for name in ("process_vm_readv", "io_uring_setup"):
        yield name, partial(kernel.syscall, *seccomp.list_call_numbers([name]), os.getpid())
    if order is not None:
        yield "netlink", partial(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW)
        yield "shmget", partial(kernel.syscall, *seccomp.list_call_numbers(["shmget"]))
        if not order.namespaces:
            yield "unshare", partial(kernel.syscall, *seccomp.list_call_numbers(["unshare"]))


def _is_possible(attempt: Attempt) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno not in REFUSED
    return True


def _keep_mode(path: str) -> None:
    found = Path(path)
    found.chmod(found.stat().st_mode)


def _try_open(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def _try_write(path: str) -> None:
    """Open a file for writing, or make a file without a name in a folder."""
    flags = os.O_TMPFILE if os.path.isdir(path) else 0  # noqa: PTH112 - text
    os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600))
