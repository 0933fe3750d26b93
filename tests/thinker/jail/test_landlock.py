"""What a process can reach after it gave up all but its grants."""

import os
import socket
from pathlib import Path

import pytest
from fakes.jailed import outcomes

from thinker.jail import landlock

needs_landlock = pytest.mark.skipif(
    landlock.read_abi_version() < landlock.ABI_SCOPE, reason="an older kernel"
)
NO_LANDLOCK = (
    "from thinker.jail import seccomp\n"
    "seccomp.install_filter(seccomp.build_filter((), missing=['landlock_create_ruleset']))\n"
)


def restricted(grants: str) -> str:
    return (
        "from thinker.jail.landlock import Grants, read_abi_version, restrict_access\n"
        f"lacking = restrict_access(Grants({grants}))"
    )


@needs_landlock
def test_only_granted_paths_can_be_read_and_only_writable_ones_written(tmp_path: Path) -> None:
    """A folder grants what is below it, a file itself; a path that is missing grants nothing."""
    for name in ("read", "write", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("text")
    (tmp_path / "single").write_text("text")
    tries = {
        "read": f"open('{tmp_path}/read/file').read(); os.listdir('{tmp_path}/read')",
        "single": f"open('{tmp_path}/single').read()",
        "write": f"open('{tmp_path}/write/new', 'w').write('x'); os.mkdir('{tmp_path}/write/d')",
        "write to read": f"open('{tmp_path}/read/file', 'w')",
        "truncate": f"os.truncate('{tmp_path}/read/file', 0)",
        "create": f"open('{tmp_path}/read/new', 'w')",
        "remove": f"os.unlink('{tmp_path}/read/file')",
        "other": f"open('{tmp_path}/other/file')",
        "list": f"os.listdir('{tmp_path}')",
        "link": f"os.link('{tmp_path}/write/file', '{tmp_path}/single2')",
        "move": f"os.rename('{tmp_path}/write/file', '{tmp_path}/read/moved')",
        "process": "open('/proc/self/status')",
        "run": "os.execv('/bin/true', ['true'])",
    }
    grants = (
        f"read=['{tmp_path}/read', '{tmp_path}/single', '{tmp_path}/none'],"
        f" write=['{tmp_path}/write']"
    )
    found = outcomes(restricted(grants), tries)
    done = {name for name, outcome in found.items() if outcome == "done"}
    assert done == {"read", "single", "write"}
    assert set(found.values()) <= {"done", "EACCES", "EXDEV"}


@needs_landlock
def test_granted_programs_can_be_executed() -> None:
    """Execution is a right of its own."""
    assert outcomes(restricted("run=['/']"), {"run": "os.execv('/bin/echo', ['echo', '{}'])"}) == {}


@needs_landlock
def test_tcp_reaches_only_granted_ports() -> None:
    """Without a grant none; None leaves TCP open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        tries = {
            "connect": f"socket.create_connection(('127.0.0.1', {port}))",
            "serve": "socket.create_server(('127.0.0.1', 0))",
        }
        refused = {"connect": "EACCES", "serve": "EACCES"}
        assert outcomes(restricted("read=['/']"), tries) == refused
        allowed = refused | {"connect": "done"}
        assert outcomes(restricted(f"read=['/'], connect=[{port}]"), tries) == allowed
        opened = {"connect": "done", "serve": "done"}
        assert outcomes(restricted("read=['/'], connect=None, bind=None"), tries) == opened


@needs_landlock
def test_signals_and_abstract_sockets_end_at_the_jail() -> None:
    """Its own children are inside."""
    name = f"orchestrator-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        tries = {
            "parent": f"os.kill({os.getpid()}, 0)",
            "itself": "os.kill(os.getpid(), 0)",
            "child": "pid = os.fork() or os._exit(0); os.kill(pid, 0); os.waitpid(pid, 0)",
            "abstract": f"socket.socket(socket.AF_UNIX).connect('\\0{name}')",
        }
        found = outcomes(restricted("read=['/']"), tries)
        assert found == {
            "parent": "EPERM",
            "itself": "done",
            "child": "done",
            "abstract": "EPERM",
        }
        open_scope = outcomes(restricted("read=['/'], scoped=False"), tries)
        assert set(open_scope.values()) == {"done"}


@needs_landlock
def test_jail_does_not_close_around_a_process_with_another_thread() -> None:
    """That thread would stay outside; no one is told that the jail holds."""
    beside = "held = threading.Event(); threading.Thread(target=held.wait).start()\n"
    ended = "held.set(); assert lacking == ('landlock',), lacking"
    assert outcomes(beside + restricted(""), {"end": ended, "list": "os.listdir('/')"}) == {
        "end": "done",
        "list": "done",
    }


def test_kernel_without_landlock_is_named_and_changes_nothing() -> None:
    """The caller decides what that means."""
    tries = {
        "lacking": "assert lacking == ('landlock',) and read_abi_version() == 0",
        "read": "open('/proc/self/status')",
    }
    assert set(outcomes(NO_LANDLOCK + restricted(""), tries).values()) == {"done"}


@pytest.mark.parametrize(("version", "handled"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16)])
def test_older_versions_are_asked_only_for_rights_that_they_know(
    version: int, handled: int
) -> None:
    """A right too many would make the kernel refuse the whole ruleset."""
    assert landlock.compute_file_rights(version).bit_length() == handled
    assert landlock.compute_file_rights(version) & landlock.READ == landlock.READ
