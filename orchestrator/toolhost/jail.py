"""Put the jails of the tool host and of its servers in force, and prove them from inside.

The daemon's home is out of reach, except what belongs to the server; so are the memory, the
descriptors and, from Linux 6.12 on, the signals of every process that is not the server's own.
"""

import errno
import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from orchestrator.jailer.answered_calls import hand_over
from orchestrator.toolhost.jail_order import CODE, JailOrder, Surroundings
from thinker.jail import kernel, landlock, limits, seccomp
from thinker.jail.argument_checks import TIOCLINUX, TIOCSTI, families
from thinker.jail.calls import group
from thinker.jail.capabilities import OF_FILES, keep_only
from thinker.jail.landlock import Grants
from thinker.jail.seccomp import ArgumentCheck
from thinker.protocol.sandbox import SandboxReport

MEMORY = 4 * 1024**3  # bytes of data of one process; Node.js and browsers need less
PROCESSES = 1024  # beyond what the user has when a server starts
# The tool host follows its servers by descriptors; a browser's own jail uses chroot.
DENIED = group("io_uring", "kernel", "machine", "mounts", "others") - {
    *("pidfd_open", "pidfd_send_signal", "chroot"),
}
PROC = "/proc"
OWN = (0,)  # the calling process
CHECKS = (
    ArgumentCheck("ioctl", 1, (TIOCSTI, TIOCLINUX), refused=True),
    ArgumentCheck("prlimit64", 0, OWN),
    *(ArgumentCheck("setpriority", argument, OWN) for argument in (0, 1)),
    *(ArgumentCheck(f"sched_{name}", 0, OWN) for name in ("setaffinity", "setattr")),
    *(ArgumentCheck(f"sched_{name}", 0, OWN) for name in ("setparam", "setscheduler")),
    ArgumentCheck("ioprio_set", 1, OWN),
)
TCP = (0, socket.IPPROTO_TCP)
SERVING = frozenset({"bind", "listen", "accept", "accept4"})
KIND = 0xF  # of a socket, without flags
FASTOPEN = 0x20000000  # MSG_FASTOPEN: data that connects


def enter_host(around: Surroundings, supervisor: int) -> SandboxReport:
    """Jail the tool host, before it has a second thread; its folders in the home exist."""
    keep_only(OF_FILES)
    home = around.home
    landlock.restrict(
        Grants(
            run=[*around.run, *CODE, f"{home}/skills", f"{home}/agents"],
            all=[*around.write, *own_folders(home)],
            connect=None,
            bind=None,
        )
    )
    seccomp.install(seccomp.program(DENIED, CHECKS, missing=()))
    return probe(home, supervisor)


def own_folders(home: str) -> list[Path]:
    """Return the folders of a home in which servers may write; a right needs one that exists."""
    return [Path(home, name) for name in ("servers", "workspaces")]


def enter_as_ordered(file: int, report: int, channel: socket.socket | None) -> str:
    """Jail this process as the order in a file says, and report.

    Returns why it must not go on, otherwise an empty text. ``channel`` leads to the guardian, which
    answers calls that no filter can judge.
    """
    order = JailOrder.unpack(os.pread(file, os.fstat(file).st_size, 0).decode())
    os.close(file)
    try:
        found = enter(order, channel)
    except OSError as error:
        return f"its connections cannot be led to the proxy ({error}); allow all or none"
    os.write(report, json.dumps(asdict(found)).encode())
    os.close(report)
    if order.required and found.level != "full":
        return f'its jail is "{found.level}" ({found.reason}), but agents.json requires "full"'
    return ""


def enter(order: JailOrder, channel: socket.socket | None) -> SandboxReport:
    """Jail this process, which is about to become the server.

    Raises:
        OSError: it may reach some hosts only, and the kernel cannot lead it there.
    """
    limits.limit(memory=MEMORY, processes=_user_threads() + PROCESSES)
    if order.off:
        # A jail of nothing: other servers, which are in jails beside it, stay out of its reach.
        landlock.restrict(Grants(all=["/"], connect=None, bind=None))
        return SandboxReport("off", "agents.json says so")
    with suppress(OSError):  # the probe notices
        _ruleset(order).enforce()
    denied = DENIED | (SERVING if order.network == "proxy" else frozenset())
    seccomp.install(seccomp.program(denied, (*CHECKS, *_network(order)), missing=()))
    if channel is not None:
        try:
            hand_over(channel, connections=bool(order.proxy))
        except OSError:
            if order.proxy:
                raise
    return probe(order.around.home, order.supervisor, changes=channel is not None)


def _ruleset(order: JailOrder) -> landlock.Ruleset:
    grants = order.grants()
    if os.getuid() != 0 or order.narrow:
        return landlock.Ruleset(grants)
    # Root owns the folders of all processes, so it must not list the daemon's descriptors, and it
    # may write there, which decides who is killed when memory runs out.
    run, write = ([path for path in paths if path != PROC] for paths in (grants.run, grants.all))
    ruleset = landlock.Ruleset(replace(grants, run=run, all=write))
    ruleset.grant(PROC, landlock.READ_FILE)
    return ruleset


def _network(order: JailOrder) -> Iterator[ArgumentCheck]:
    local = (socket.AF_UNIX,) if order.sockets else ()
    if order.network == "open":
        yield families(socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, *local)
        return
    if order.network == "none":
        yield families(*local)
        return
    yield families(socket.AF_INET, *local)
    yield ArgumentCheck("socket", 1, (socket.SOCK_STREAM,), KIND)
    yield ArgumentCheck("socket", 2, TCP)
    for call, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        yield ArgumentCheck(call, flags, (0,), FASTOPEN)


def _user_threads() -> int:
    """Return how many threads this user has, which is what the limit of processes counts."""
    count = 0
    with os.scandir("/proc") as entries:
        for entry in entries:
            with suppress(OSError):  # it ended
                if entry.name.isdecimal() and entry.stat().st_uid == os.getuid():
                    count += sum(1 for _ in os.scandir(f"{entry.path}/task"))
    return count


def probe(home: str, supervisor: int, *, changes: bool = False) -> SandboxReport:
    """Try forbidden things, with ``changes`` of the home's mode, and judge by what was refused."""
    calls = [name for name, attempt in _call_attempts() if _done(attempt)]
    if changes and _done(partial(_keep_mode, home)):
        calls.append("chmod")
    files = [name for name, attempt in _file_attempts(home, supervisor) if _done(attempt)]
    signals = _done(partial(os.kill, supervisor, 0))
    if files:
        missing = landlock.abi() == 0
        reason = "the kernel has no Landlock" if missing else f"it can open {', '.join(files)}"
        return SandboxReport("keys-only" if calls else "no-landlock", reason)
    if calls:
        return SandboxReport("keys-only", f"seccomp does not hold: {', '.join(calls)}")
    return SandboxReport("full", "signals reach other processes" if signals else "")


def _file_attempts(home: str, supervisor: int) -> Iterable[tuple[str, Callable[[], object]]]:
    for path in (home, f"{home}/run", f"/proc/{supervisor}/environ"):
        yield path, partial(_open, path)


def _call_attempts() -> Iterable[tuple[str, Callable[[], object]]]:
    for name in ("process_vm_readv", "io_uring_setup"):
        yield name, partial(kernel.syscall, *seccomp.numbers([name]), os.getpid())


def _done(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno not in (errno.EPERM, errno.EACCES, errno.ENOENT, errno.ESRCH)
    return True


def _keep_mode(path: str) -> None:
    found = Path(path)
    found.chmod(found.stat().st_mode)


def _open(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
