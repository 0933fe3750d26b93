"""Calls of the kernel that a process gave up."""

import platform
import struct

import pytest
from fakes.jailed import outcomes

from thinker.jail import calls, kernel, seccomp

X32_GETPID = 0x40000000 + 39


def filtered(arguments: str) -> str:
    return (
        "from thinker.jail import argument_checks as checks, kernel, seccomp\n"
        "from thinker.jail.calls import list_group_calls\n"
        f"lacking = seccomp.install_filter(seccomp.build_filter({arguments}))"
    )


def test_denied_calls_fail_with_eperm_and_others_work() -> None:
    """For all threads, also those that ran before."""
    jail = (
        "ready, go = threading.Event(), threading.Event()\n"
        "def late():\n"
        "    ready.set(); go.wait()\n"
        "    try: socket.socket()\n"
        "    except OSError as error: seen.append(error.errno)\n"
        "seen = []; thread = threading.Thread(target=late); thread.start(); ready.wait()\n"
    )
    tries = {
        "socket": "socket.socket()",
        "execute": "os.execv('/bin/true', ['true'])",
        "unshare": "kernel.syscall(272 if kernel.MACHINE == kernel.X86_64 else 97, 0x10000000)",
        "thread": "go.set(); thread.join(); assert seen == [errno.EPERM]",
        "file": "open('/dev/null').close()",
        "pair": "socket.socketpair()",
    }
    found = outcomes(
        jail + filtered("list_group_calls('sockets', 'execution', 'namespaces')"), tries
    )
    refused = {name for name, outcome in found.items() if outcome == "EPERM"}
    assert refused == {"socket", "execute", "unshare"}
    assert set(found.values()) == {"EPERM", "done"}


def test_threads_start_where_processes_do_not() -> None:
    """Libraries fall back from clone3, which does not exist, to clone."""
    tries = {
        "fork": "os.fork()",
        "thread": "thread = threading.Thread(target=int); thread.start(); thread.join()",
        "clone3": "kernel.syscall(435, 0, 0)",
    }
    found = outcomes(filtered("list_group_calls('forking'), [checks.THREADS_ONLY]"), tries)
    assert found == {"fork": "EPERM", "thread": "done", "clone3": "ENOSYS"}


def test_arguments_decide_where_a_call_is_both_good_and_bad() -> None:
    """Families of sockets, kinds of pairs, whose limits, whom to signal, which requests."""
    tries = {
        "unix": "socket.socket(socket.AF_UNIX)",
        "inet": "socket.socket(socket.AF_INET)",
        "inet6": "socket.socket(socket.AF_INET6)",
        "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "stream": "socket.socketpair()",
        "datagram": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "itself": "os.kill(os.getpid(), 0)",
        "parent": "os.kill(os.getppid(), 0)",
        "limits": "import resource; resource.prlimit(0, resource.RLIMIT_CORE)",
        "other's": "resource.prlimit(os.getppid(), resource.RLIMIT_CORE)",
        "owner": "import fcntl; fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid())",
        "socket's owner": "fcntl.ioctl(socket.socketpair()[0], 0x8901, b'pid\\0')",
        "flags": "fcntl.fcntl(1, fcntl.F_GETFL)",
        "type": "import termios; fcntl.ioctl(1, termios.TIOCSTI, b'x')",
    }
    checks = (
        "(), [checks.allow_families(socket.AF_UNIX, socket.AF_INET), *checks.CONNECTED_PAIRS,"
        " *checks.allow_own_signals(), checks.allow_own_limits(), *checks.NO_DESCRIPTOR_OWNERS,"
        " checks.NO_TERMINAL_INPUT, checks.NO_NAMESPACES]"
    )
    found = outcomes(filtered(checks), tries)
    done = {name for name, outcome in found.items() if outcome == "done"}
    assert done == {"unix", "inet", "stream", "itself", "limits", "flags"}
    assert set(found.values()) == {"done", "EPERM"}


def test_namespaces_cannot_be_entered_by_clone() -> None:
    """An ordinary user could make one of users; forks without one go on."""
    number = {kernel.X86_64: 56, kernel.ARM64: 220}[kernel.MACHINE]
    tries = {
        "namespace": f"kernel.syscall({number}, 0x10000000 | signal.SIGCHLD)",
        "fork": "pid = os.fork() or os._exit(0); os.waitpid(pid, 0)",
    }
    found = outcomes(filtered("(), [checks.NO_NAMESPACES]"), tries)
    assert found == {"namespace": "EPERM", "fork": "done"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 has two more conventions")
def test_other_calling_conventions_are_denied() -> None:
    """Their numbers differ, so a filter by number would not hold."""
    found = outcomes(filtered("()"), {"x32": f"kernel.syscall({X32_GETPID})"})
    assert found == {"x32": "EPERM"}


def test_kernel_without_seccomp_is_named_and_changes_nothing() -> None:
    """As is a machine whose numbers are not known."""
    jail = filtered("(), missing=['seccomp']") + "\n" + filtered("['socket']")
    tries = {"lacking": "assert lacking == ('seccomp',)", "socket": "socket.socket()"}
    assert set(outcomes(jail, tries).values()) == {"done"}
    assert seccomp.install_filter(b"") == ("seccomp",)


def test_numbers_of_calls_are_unique() -> None:
    """A number twice would be a slip in the table."""
    for column in (0, 1):
        known = [pair[column] for pair in calls.NUMBERS.values() if pair[column] >= 0]
        assert len(known) == len(set(known))


def test_longest_filter_keeps_within_the_kernels_limit() -> None:
    """4096 instructions of eight bytes."""
    code = seccomp.build_filter(calls.NUMBERS)
    assert len(code) % struct.calcsize("=HBBI") == 0
    assert len(code) // 8 < 4096
