"""The jail of a worker, which keeps its code, its prompt and skills, and its open files.

The broker has the same jail with a network and without files of its own.

`prepare_jail` does everything but Landlock, and may run before the process has an agent.
`close_jail` then grants the worker's own paths and applies Landlock.

Where: are the jail rules of a worker applied?
"""

import errno
import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from thinker.jail import argument_checks, kernel, landlock, seccomp
from thinker.jail.calls import list_group_calls
from thinker.jail.granted import OwnPaths
from thinker.jail.hardening import harden_process, is_hardened
from thinker.jail.landlock import Grants, Ruleset
from thinker.jail.limits import limit_resources
from thinker.protocol.chosen_folder import ChosenFolder
from thinker.protocol.sandbox import SandboxReport

MEMORY = 1024**3  # bytes of the process's own data
FILES = 256  # open at the same time
PACKAGE = Path(__file__).parent.parent
LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/nix/store")
SYSTEM = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/zoneinfo",
    "/usr/share/zoneinfo",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
    "/dev/random",
)
# Names of hosts and certificates, for workers that may open sockets.
NETWORK = (
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/run/systemd/resolve",
)
NOT_DONE = (errno.EPERM, errno.EACCES, errno.ENOENT)  # refused, or nothing there
NEVER = list_group_calls(
    "execution",
    "forking",
    "others",
    "priorities",
    "io_uring",
    "namespaces",
    "mounts",
    "kernel",
    "machine",
    "shared_memory",
    "attributes",
) | {
    # the log may be a socket, which all processes of the daemon share
    "tkill",
    "shutdown",
    # memory that the limit does not count
    "memfd_create",
    "memfd_secret",
}
SERVING = frozenset({"listen", "accept", "accept4"})  # on a listener that is already open


class WorkerJail:
    """The jail around this process."""

    def __init__(self, report: SandboxReport, own: OwnPaths | None = None) -> None:
        self.report = report
        self._own = own

    def is_stale(self) -> bool:
        """Return whether one of the worker's own paths has moved since the grant."""
        return self._own is not None and self._own.has_moved()


NO_JAIL = WorkerJail(SandboxReport("off", "it was started by hand"))


@dataclass(frozen=True)
class PreparedJail:
    """A jail whose ruleset is not applied yet; the ruleset is None on kernels without Landlock."""

    ruleset: Ruleset | None
    network: bool

    def close_jail(
        self, own: Sequence[Path], home: Path, chosen: Sequence[ChosenFolder] = ()
    ) -> WorkerJail:
        """Grant the worker's own paths, apply Landlock, and probe the jail."""
        paths = OwnPaths(own, home, chosen)
        if self.ruleset is not None:
            self.grant_paths(paths)
            with suppress(OSError):  # the probe notices
                self.ruleset.enforce_ruleset()
        report = probe_jail(home, network=self.network)
        if report.level == "full":
            paths.remember_places()
        return WorkerJail(report, paths)

    def grant_paths(self, paths: OwnPaths) -> None:
        if self.ruleset is not None:
            for path in paths.list_paths():
                self.ruleset.grant_path(path, landlock.READ)
            for path in paths.list_folders():
                self.ruleset.grant_path(path, landlock.READ_DIR)


def prepare_jail(
    *, network: bool = False, unix: bool = False, serves: bool = False, files: int | None = FILES
) -> PreparedJail:
    """Give up system calls and lower limits permanently.

    ``network`` allows internet sockets, ``unix`` also Unix sockets, which resolve some host names.
    ``serves`` allows connections to a listener that is already open. ``files`` limits the open
    files; None leaves their limit as it is.
    """
    harden_process()
    limit_resources(memory=MEMORY, files=files)
    try:
        ruleset = Ruleset(_build_common_grants(os.getcwd(), network=network))  # noqa: PTH109 - fewer pages
    except OSError:
        ruleset = None
    seccomp.install_filter(build_common_filter(network=network, unix=unix, serves=serves))
    seccomp.install_filter(_build_own_process_filter())
    return PreparedJail(ruleset, network)


def rehearse_jail(own: Sequence[Path]) -> None:
    """Do what a worker does for its jail, so that a forked worker needs no new pages for it.

    This process is hardened like a worker and has its limit of memory, but it is not jailed, and
    keeps its limit of files, which the broker needs.
    """
    home = Path.cwd()
    harden_process()
    limit_resources(memory=MEMORY)
    with suppress(OSError):
        ruleset = Ruleset(_build_common_grants(os.getcwd(), network=False))  # noqa: PTH109 - fewer pages
        PreparedJail(ruleset, network=False).grant_paths(OwnPaths(own, home))
        ruleset.discard_ruleset()
    build_common_filter(network=False, unix=False)
    seccomp.install_filter(
        _build_own_process_filter()[: seccomp.INSTRUCTION.size]
    )  # refused, since the end is missing
    probe_jail(home, network=False)


@lru_cache(maxsize=2)
def build_common_filter(*, network: bool, unix: bool = False, serves: bool = False) -> bytes:
    """Return the filter that all processes with these sockets have in common."""
    sockets = frozenset[str]() if network else list_group_calls("sockets")
    sockets -= SERVING if serves else frozenset()
    families = (socket.AF_INET, socket.AF_INET6, *((socket.AF_UNIX,) if unix else ()))
    return seccomp.build_filter(
        NEVER | sockets,
        (
            argument_checks.THREADS_ONLY,
            argument_checks.NO_NAMESPACES,
            argument_checks.NO_TERMINAL_INPUT,
            *argument_checks.NO_DESCRIPTOR_OWNERS,
            *argument_checks.CONNECTED_PAIRS,
            argument_checks.allow_families(*families),
        ),
    )


def _build_own_process_filter() -> bytes:
    """Return the filter that keeps signals and limits to this process."""
    checks = (*argument_checks.allow_own_signals(), argument_checks.allow_own_limits())
    return seccomp.build_filter((), checks)


@lru_cache(maxsize=2)  # computed before workers fork: it would cost each of them 200 KB
def _build_common_grants(home: str, *, network: bool) -> Grants:
    ports = None if network else ()
    read = (*list_code_paths(Path(home)), *SYSTEM, *(NETWORK if network else ()))
    return Grants(read=read, connect=ports, bind=ports)


def list_code_paths(home: Path) -> list[str]:
    """Return the folders of modules and libraries, without folders that contain the home.

    A folder with this package that is not for installed packages, such as a working copy, is left
    out except for the package.
    """
    working_copy = PACKAGE.parent if not PACKAGE.parent.name.endswith("-packages") else None
    entries = (entry for entry in sys.path if entry and Path(entry) != working_copy)
    found = (str(PACKAGE), *LIBRARIES, f"{sys.base_prefix}/lib", *entries)
    return [path for path in dict.fromkeys(found) if not home.is_relative_to(path)]


def probe_jail(home: Path, *, network: bool) -> SandboxReport:
    """Attempt forbidden calls and accesses; return a report of what was refused."""
    files = [name for name, attempt in _iter_file_attempts(home) if _is_allowed(attempt)]
    calls = [name for name, attempt in _iter_call_attempts(network=network) if _is_allowed(attempt)]
    if calls:
        reason = f"seccomp does not hold: {', '.join(calls)}"
        return SandboxReport("keys-only" if is_hardened() else "off", reason)
    if files:
        missing = landlock.read_abi_version() == 0
        reason = "the kernel has no Landlock" if missing else f"it can open {', '.join(files)}"
        return SandboxReport("no-landlock", reason)
    return SandboxReport("full", "the network is open" if network else "")


def _iter_file_attempts(home: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    for path in ("/", str(home), "/proc/self/environ"):
        yield path, partial(_open_file, path)


def _iter_call_attempts(*, network: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "unshare", partial(_call_kernel, "unshare")
    yield "pidfd_open", lambda: os.close(os.pidfd_open(os.getppid()))
    yield "kill", partial(os.kill, os.getppid(), 0)
    if not network:
        yield "socket", partial(_call_kernel, "socket", socket.AF_INET)


def _is_allowed(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno not in NOT_DONE
    return True


def _open_file(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def _call_kernel(name: str, *arguments: int) -> None:
    kernel.syscall(*seccomp.list_call_numbers([name]), *arguments)
