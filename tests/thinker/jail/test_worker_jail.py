"""What a worker's process can still do, and what it says about that."""

import os
import socket
from pathlib import Path

import pytest
from fakes.jailed import outcomes

from thinker.jail import landlock, worker_jail
from thinker.jail.worker_jail import list_code_paths

needs_landlock = pytest.mark.skipif(
    landlock.read_abi_version() < landlock.ABI_SCOPE, reason="an older kernel"
)
JAIL = """
from pathlib import Path
from thinker.jail import seccomp, worker_jail
home = Path({home!r})
os.chdir(home)
prepared = worker_jail.prepare_jail(network={network})
jail = prepared.close_jail([home / 'skills', home / 'prompt'], home)
"""
NONE = "seccomp.install_filter(seccomp.build_filter((), missing=[{missing!r}]))\n"
FAIL = "def fail(): raise OSError(ctypes.get_errno(), 'refused')\n"
IMPORT = "from thinker.jail import seccomp\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the files of two agents."""
    for folder in ("skills", "agents/other"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("skills/file", "agents/other/instructions.md", "prompt", "agents.json"):
        (tmp_path / name).write_text("text")
    return tmp_path


def jailed(home: Path, *, network: bool = False) -> str:
    return JAIL.format(home=str(home), network=network)


@needs_landlock
def test_jailed_worker_reaches_its_own_files(home: Path) -> None:
    """And what a turn needs of the machine."""
    tries = {
        "level": "assert jail.report.level == 'full' and not jail.report.reason",
        "skills": f"os.listdir('{home}/skills'); open('{home}/skills/file').read()",
        "prompt": f"open('{home}/prompt').read()",
        "import": "import sqlite3, wave, zoneinfo; zoneinfo.ZoneInfo('Europe/Berlin')",
        "random": "open('/dev/urandom', 'rb').read(1)",
        "thread": "thread = threading.Thread(target=int); thread.start(); thread.join()",
        "pair": "ours, theirs = socket.socketpair(); socket.send_fds(ours, [b'x'], [0])",
        "stale": "assert not jail.is_stale()",
    }
    assert set(outcomes(jailed(home), tries).values()) == {"done"}


@needs_landlock
def test_jailed_worker_reaches_nothing_else(home: Path) -> None:
    """Neither its parent, nor the home, nor the machine."""
    parent = os.getpid()
    tries = {
        "environment": f"open('/proc/{parent}/environ')",
        "memory": f"open('/proc/{parent}/mem')",
        "descriptors": f"os.readlink('/proc/{parent}/fd/0')",
        "kill": f"os.kill({parent}, 0)",
        "pidfd": f"os.pidfd_open({parent})",
        "priority": f"os.setpriority(os.PRIO_PROCESS, {parent}, 19)",
        "agents.json": f"open('{home}/agents.json')",
        "written": f"open('{home}/agents.json', 'a')",
        "other agent": f"open('{home}/agents/other/instructions.md')",
        "home": f"os.listdir('{home}')",
        "new file": f"os.open('{home}', os.O_TMPFILE | os.O_WRONLY, 0o600)",
        "TCP": "socket.socket().connect(('127.0.0.1', 1))",
        "unix": "socket.socket(socket.AF_UNIX)",
        "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "fork": "os.fork() or os._exit(0)",
        "exec": "os.execv('/nonexistent', ['x'])",
        "namespace": "ctypes.CDLL(None, use_errno=True).unshare(0) and fail()",
    }
    found = outcomes(FAIL + jailed(home), tries)
    assert set(found.values()) <= {"EACCES", "EPERM"}, found


def test_jailed_worker_changes_nothing_of_a_file_that_landlock_ignores(home: Path) -> None:
    """Neither mode, owner, times, attributes nor size; nor memory and log of the daemon."""
    tries = {
        "mode": f"os.chmod('{home}/agents.json', 0o600)",
        "mode of a folder": f"os.chmod('{home}', 0o700)",
        "owner": f"os.chown('{home}/agents.json', -1, os.getgid())",
        "times": f"os.utime('{home}/agents.json')",
        "attribute": f"os.setxattr('{home}/agents.json', 'user.x', b'x')",
        "size": f"os.truncate('{home}/agents.json', 0)",
        "memory": "os.memfd_create('x')",
        "log": "socket.socketpair()[0].shutdown(socket.SHUT_RDWR)",
    }
    assert set(outcomes(jailed(home), tries).values()) == {"EPERM"}


@needs_landlock
def test_worker_with_a_network_still_reaches_no_file(home: Path) -> None:
    """Its report says that sockets are open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        tries = {
            "level": "assert jail.report.level == 'full' and 'network' in jail.report.reason",
            "connect": f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))",
            "names": "socket.getaddrinfo('localhost', 80)",
            "agents.json": f"open('{home}/agents.json')",
            "unix": "socket.socket(socket.AF_UNIX)",
            "parent": f"os.kill({os.getpid()}, 0)",
        }
        found = outcomes(jailed(home, network=True), tries)
    refused = {name for name, outcome in found.items() if outcome in ("EACCES", "EPERM")}
    assert refused == {"agents.json", "unix", "parent"}


def test_kernel_without_landlock_leaves_the_ban_of_calls(home: Path) -> None:
    """Files of its user are then in reach, and the report says so."""
    jail = IMPORT + NONE.format(missing="landlock_create_ruleset") + jailed(home)
    tries = {
        "level": "assert jail.report.level == 'no-landlock' and 'Landlock' in jail.report.reason",
        "file": f"open('{home}/agents.json').close()",
        "socket": "socket.socket()",
        "kill": "os.kill(os.getppid(), 0)",
    }
    found = outcomes(jail, tries)
    assert found == {"level": "done", "file": "done", "socket": "EPERM", "kill": "EPERM"}


def test_kernel_without_seccomp_leaves_the_keys_alone(home: Path) -> None:
    """No other process can read it, which the kernel itself is asked."""
    jail = IMPORT + NONE.format(missing="seccomp") + jailed(home)
    level = "assert jail.report.level == 'keys-only' and 'seccomp' in jail.report.reason"
    assert outcomes(jail, {"level": level}) == {"level": "done"}


def test_code_never_holds_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A search path above the home would open it; a working copy opens its package alone."""
    monkeypatch.syspath_prepend(str(tmp_path))
    inside = tmp_path / "deep" / "home"
    assert str(tmp_path) in list_code_paths(Path("/elsewhere"))
    assert str(tmp_path) not in list_code_paths(inside)
    package = Path(worker_jail.__file__).parents[1]
    assert str(package) in list_code_paths(inside)
    assert str(package.parent) not in list_code_paths(inside)


CHOSEN = """
from thinker.protocol.chosen_folder import ChosenFolder
(home / 'skills/tea').mkdir()
(home / 'skills/secret').mkdir()
for name in ('tea', 'secret'):
    (home / 'skills' / name / 'SKILL.md').write_text('text')
(home / 'skills/linked').symlink_to(home / 'agents/other')
chosen = [ChosenFolder(home / 'skills', {globs!r})]
jail = worker_jail.prepare_jail().close_jail([home / 'prompt'], home, chosen)
"""


@needs_landlock
def test_jailed_worker_reads_the_skills_that_it_may_use_and_no_other(home: Path) -> None:
    """It lists the names, to notice a new one, which makes its jail stale."""
    whole = JAIL.format(home=str(home), network=False).rpartition("prepared =")[0]
    skills = home / "skills"
    tries = {
        "chosen": f"open('{skills}/tea/SKILL.md').read()",
        "names": f"assert 'secret' in os.listdir('{skills}')",
        "other": f"open('{skills}/secret/SKILL.md').read()",
        "beside": f"open('{skills}/file').read()",
        "linked": f"open('{skills}/linked/instructions.md').read()",
        "fresh": "assert not jail.is_stale()",
    }
    found = outcomes(whole + CHOSEN.format(globs=("te*", "linked")), tries)
    refused = {name for name, outcome in found.items() if outcome != "done"}
    assert refused == {"other", "beside", "linked"}
