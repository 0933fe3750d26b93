"""What commands of a workspace can do, and what they cannot."""

import os
import select
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.server_client import MANY, SECRET, ServerClient, workspace
from fakes.web_pages import web_pages

from orchestrator.extensions.selftest.crash.process_tree import list_descendants
from orchestrator.extensions.workspace.command_order import MIB, CommandLimits
from thinker.jail import landlock

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(landlock.read_abi_version() < landlock.ABI_SCOPE, reason="needs Landlock 6"),
]
SOCKETS = """python3 - <<'E'
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        print(family.name, "open")
    except OSError as error:
        print(family.name, "closed")
E"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the workspace and things beside it."""
    found = tmp_path_factory.mktemp("outside")
    (found / "secret.txt").write_text("the secret", "utf-8")
    (found / "secret.txt").chmod(0o644)
    return found


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServerClient]:
    """The server of a workspace."""
    with workspace(folder) as found:
        yield found


def test_command_has_the_workspace_and_no_secret(client: ServerClient, folder: Path) -> None:
    """Its exit code, both outputs, its folder and its environment."""
    told = client.shell("pwd; echo $HOME; env; echo wrong >&2; cat; exit 3")
    assert told.startswith("exit code 3")
    assert f"{folder}/ws\n{folder}/ws\n" in told
    assert told.endswith("stderr:\nwrong")
    assert SECRET not in told


@pytest.mark.parametrize(
    "attempt",
    [
        "cat ../secret.txt",
        "cat {out}/secret.txt",
        "cat /proc/self/root{out}/secret.txt",
        "cat /proc/self/cwd/../secret.txt",
        "ln -s {out}/secret.txt s1 && cat s1",
        "ln {out}/secret.txt h1 && cat h1",
        "mv {out}/secret.txt m1 && cat m1",
        "cp -l {out}/secret.txt c1 && cat c1",
        "ls {out}",
        "cat /etc/shadow",
        "cat /proc/1/environ",
        "cat /proc/$PPID/environ /proc/$PPID/cmdline",
        "cat /proc/$PPID/maps",
        "echo x > {out}/secret.txt",
        "echo x > {out}/new.txt",
        "echo x > /tmp/hands-escape.txt",
        "rm -f {out}/secret.txt && test ! -e {out}/secret.txt",
        "truncate -s 0 {out}/secret.txt",
        "chmod 777 {out}/secret.txt",
        "ln -sf {out}/secret.txt l1; chmod 777 l1",
        "chown 12345 {out}/secret.txt",
        "python3 -c \"import os; os.setxattr('{out}/secret.txt', 'user.a', b'b')\"",
        "mknod dev b 8 0 && head -c 1 dev",
        "unshare -Ur true",
        "kill -0 $PPID",
        "kill -0 1",
        "exec 3<>/dev/tcp/127.0.0.1/9",
        'python3 -c "import os; os.sched_setaffinity(os.getppid(), [0])"',
        'python3 -c "import resource, os; resource.prlimit(os.getppid(), resource.RLIMIT_CPU)"',
        'python3 -c "import os; os.pidfd_open(os.getppid())"',
    ],
)
def test_command_cannot_leave_its_folder(client: ServerClient, folder: Path, attempt: str) -> None:
    """The attempt fails, and what is outside is as it was."""
    told = client.shell(attempt.replace("{out}", str(folder)))
    assert not told.startswith("exit code 0"), told
    assert "the secret" not in told
    secret = folder / "secret.txt"
    assert secret.read_text("utf-8") == "the secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o644
    assert sorted(path.name for path in folder.iterdir()) == ["secret.txt", "ws"]


def test_command_has_no_socket(client: ServerClient) -> None:
    """Of any family; pairs within the command work."""
    told = client.shell(SOCKETS)
    assert "open" not in told
    assert told.count("closed") == 4
    pair = (
        "python3 -c \"import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\""
    )
    assert "b'x'" in client.shell(pair)


def test_usual_programs_work(client: ServerClient) -> None:
    """Modes, archives, repositories, pipes and temporary files are as elsewhere."""
    script = (
        "mkdir -p d && printf '#!/bin/sh\\necho ran\\n' > d/x.sh && chmod +x d/x.sh && d/x.sh"
        " && stat -c %a d/x.sh && tar cf d.tar d && mkdir -p e && tar xf d.tar -C e && e/d/x.sh"
        " && cp -p d/x.sh y.sh && ./y.sh && mktemp && (yes | head -n 1)"
        " && echo a | sort | cat <(echo sub) -"
        ' && python3 -c \'import tempfile, subprocess; print(subprocess.run(["echo", "py"]))\''
    )
    told = client.shell(script)
    assert told.startswith("exit code 0"), told
    assert told.count("ran") == 3
    assert "/ws/.tmp/" in told
    assert "sub\na" in told
    assert "stderr" not in told


@pytest.mark.parametrize("path", ["/etc/ssl/certs", "/etc/ld.so.cache", "/etc/locale.alias"])
def test_command_reads_what_programs_need_of_etc(client: ServerClient, path: str) -> None:
    """Certificates above all: without them no connection of a command is safe."""
    if not Path(path).exists():
        pytest.skip(f"this machine has no {path}")
    assert client.shell(f"grep -rqs . {path}").startswith("exit code 0")


def test_setuid_bits_are_not_given(client: ServerClient, folder: Path) -> None:
    """A mode is that of permissions."""
    client.shell("touch bits; chmod 6777 bits")
    assert stat.S_IMODE((folder / "ws" / "bits").stat().st_mode) == 0o777


def test_all_processes_end_with_their_command(client: ServerClient) -> None:
    """Those in the background, in sessions of their own and deaf to signals, too."""
    told = client.shell(
        "sleep 611 & setsid sleep 612 & (trap '' TERM HUP; nohup sleep 613 >/dev/null 2>&1 &)"
        " ; echo started"
    )
    assert told.startswith("exit code 0")
    assert "started" in told
    assert list_descendants(client.process.pid) == []


def test_command_ends_at_its_time_limit(client: ServerClient) -> None:
    """With everything that it started."""
    told = client.shell("setsid sleep 614 & sleep 615", seconds=1)
    assert "it took more than 1 seconds" in told
    assert list_descendants(client.process.pid) == []


def test_canceled_command_is_killed(client: ServerClient) -> None:
    """The call is answered, and nothing of it is left."""
    number = client.send("run_command", command="touch begun; setsid sleep 616 & sleep 617")
    assert client.call("search_files", glob="begun", path=".") is not None
    client.cancel(number)
    (block,) = client.receive()["result"]["content"]
    assert "it was cancelled" in block["text"]
    assert list_descendants(client.process.pid) == []


def test_commands_end_with_the_server(tmp_path: Path) -> None:
    """Even if it is killed: the jail notices."""
    with workspace(tmp_path) as client:
        client.send("run_command", command="echo x > begun; sleep 618")
        while not (tmp_path / "ws" / "begun").exists():
            client.ask("ping")
        left = list_descendants(client.process.pid)
        handles = [os.pidfd_open(pid) for pid in left]
        client.process.kill()
        for handle in handles:
            _until_ended(handle)


def _until_ended(handle: int) -> None:
    """Wait for the end of a process."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    assert poll.poll(30_000), "it still runs"
    os.close(handle)


def test_fork_bomb_is_ended(client: ServerClient) -> None:
    """By the number of its processes; the server goes on."""
    told = client.shell(MANY)
    assert "it had more than 40 processes" in told
    assert list_descendants(client.process.pid) == []
    assert "hello" in client.shell("echo hello")


def test_flood_is_cut_in_the_middle(client: ServerClient) -> None:
    """The beginning and the end are kept."""
    told = client.shell("echo first; seq 100000; echo last")
    assert "first\n1\n2\n" in told
    assert told.endswith("100000\nlast")
    assert "bytes left out" in told
    assert len(told) < 5000


def test_endless_flood_is_ended(client: ServerClient) -> None:
    """Long before its time limit."""
    assert "it wrote more than 64 MiB" in client.shell("yes")


def test_memory_and_files_have_limits(client: ServerClient) -> None:
    """A process that wants more gets an error, and so does one that writes more."""
    assert "MemoryError" in client.shell("python3 -c 'bytearray(600 << 20)'")
    told = client.shell("head -c 20M /dev/zero > big; stat -c %s big; rm big")
    assert str(8 * MIB) in told


def test_memory_of_all_processes_together_has_the_limit(tmp_path: Path) -> None:
    """Several that stay below it alone are ended."""
    hungry = "python3 -c 'import signal; x = bytearray(b\"1\") * (60 << 20); signal.pause()'"
    limits = CommandLimits(seconds=60, memory=100 * MIB, processes=40, file_size=MIB)
    with workspace(tmp_path, lambda settings: replace(settings, limits=limits)) as client:
        told = client.shell(f"{hungry} & {hungry} & wait")
    assert "it used more than 100 MiB of memory" in told


def test_folders_of_the_settings_are_there_as_they_say(tmp_path: Path) -> None:
    """One may be read and executed, another changed as well."""
    for name in ("ro", "rw"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.sh").write_text("#!/bin/sh\necho ran\n", "utf-8")
        (tmp_path / name / "x.sh").chmod(0o755)
    paths = {str(tmp_path / "ro"): False, str(tmp_path / "rw"): True}
    with workspace(tmp_path, lambda settings: replace(settings, paths=paths)) as client:
        for name in ("ro", "rw"):
            assert "ran" in client.shell(f"{tmp_path}/{name}/x.sh")
            assert "echo ran" in client.call("read_file", path=f"{tmp_path}/{name}/x.sh")
        assert "exit code 0" in client.shell(
            f"echo x > {tmp_path}/rw/new; chmod 700 {tmp_path}/rw/new"
        )
        assert "exit code 1" in client.shell(f"echo x > {tmp_path}/ro/new")
        assert "exit code 1" in client.shell(f"chmod 700 {tmp_path}/ro/x.sh")
        assert "read-only" in client.call("write_file", path=f"{tmp_path}/ro/x.sh", content="")
        linked = client.shell(f"ln {tmp_path}/ro/x.sh here && echo bad >> here")
        assert not linked.startswith("exit code 0")


def test_scripts_of_the_agents_skills_run_and_those_of_others_do_not(tmp_path: Path) -> None:
    """Read-only, by the globs of the agent."""
    for name in ("mine", "theirs"):
        script = tmp_path / "skills" / name / "scripts" / "x.sh"
        script.parent.mkdir(parents=True)
        script.write_text("#!/bin/sh\necho ran\n", "utf-8")
        script.chmod(0o755)
    skills = str(tmp_path / "skills")
    with workspace(
        tmp_path, lambda settings: replace(settings, skills=(skills,), skill_globs=("mine",))
    ) as client:
        assert "ran" in client.shell(f"{skills}/mine/scripts/x.sh")
        assert "exit code 1" in client.shell(f"echo >> {skills}/mine/scripts/x.sh")
        assert "Permission denied" in client.shell(f"cat {skills}/theirs/scripts/x.sh")
        for path in ("theirs/scripts/x.sh", "mine/../theirs/scripts/x.sh"):
            told = client.call("read_file", path=f"{skills}/{path}")
            assert "not one of this agent's skills" in told
        listed = client.call("list_dir", path=skills)
        assert "mine/" in listed
        assert "theirs" not in listed
        found = client.call("search_files", path=skills, text="ran")
        assert "mine/scripts/x.sh:2" in found
        assert "theirs" not in found


def test_skills_are_found_where_other_programs_have_them(tmp_path: Path) -> None:
    """``.claude/skills`` in the workspace, which is the home as well; what is there is kept."""
    skill = tmp_path / "skills" / "tea"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tea\n---\nBoil.\n", "utf-8")
    (tmp_path / "skills" / "other").mkdir()
    mine = tmp_path / "ws" / ".claude" / "skills" / "mine"
    mine.mkdir(parents=True)
    skills = str(tmp_path / "skills")
    with workspace(tmp_path, lambda settings: replace(settings, skills=(skills,))) as client:
        told = client.shell("cat ~/.claude/skills/tea/SKILL.md; ls .claude/skills")
    assert "Boil." in told
    assert told.endswith("mine\ntea")


def test_network_is_an_opening_of_its_own(tmp_path: Path) -> None:
    """Internet sockets are there, those of the machine's other services are not."""
    with workspace(tmp_path, lambda settings: replace(settings, network=True)) as client:
        told = client.shell(SOCKETS)
    assert "AF_INET open" in told
    assert "AF_UNIX closed" in told
    assert "AF_NETLINK closed" in told


def test_calls_do_not_wait_for_a_command(client: ServerClient) -> None:
    """A file is read while a command runs."""
    number = client.send("run_command", command="sleep 619")
    client.send("list_dir")
    assert client.receive()["id"] != number
    client.cancel(number)
    assert client.receive()["id"] == number


def test_hints_tell_what_may_be_repeated(client: ServerClient) -> None:
    """Reading is pure, writing a file idempotent, edits and commands are neither."""
    hints = {tool["name"]: tool["annotations"] for tool in client.ask("tools/list")["tools"]}
    pure = {name for name, hint in hints.items() if hint["readOnlyHint"]}
    again = {name for name, hint in hints.items() if hint["idempotentHint"]}
    assert pure == {"read_file", "take_file", "list_dir", "search_files"}
    assert again - pure == {"write_file"}
    assert hints.keys() - again == {"edit_file", "run_command"}


def test_search_ends_with_a_pattern_that_takes_for_ever(tmp_path: Path) -> None:
    """It has a process and a time limit of its own."""
    with workspace(tmp_path) as client:
        client.call("write_file", path="a.txt", content="a" * 60 + "b\n")
        number = client.send("search_files", pattern="(a+)+$")
        client.cancel(number)
        assert "the search was ended" in str(client.receive())
        assert "a.txt:1" in client.call("search_files", pattern="^a+b$")
        assert "not a regular expression" in client.call("search_files", pattern="(")


ASK = """python3 - <<'E'
import socket, sys
for address in (("127.0.0.1", {port}), ("127.0.0.2", {proxy}), ("93.184.216.34", {proxy})):
    try:
        socket.create_connection(address, 5)
        print(address, "reached")
    except OSError as error:
        print(address, error)
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    try:
        socket.socket(socket.AF_INET, kind)
        print(kind, "open")
    except OSError:
        print(kind, "closed")
s = socket.socket()
try:
    s.listen()
    print("listens")
except OSError:
    print("does not listen")
try:
    s.sendto(b"x", 0x20000000, ("127.0.0.1", {port}))
    print("sent")
except OSError:
    print("not sent")
E"""


def test_hosts_of_a_list_are_reached_through_the_proxy_alone(tmp_path: Path) -> None:
    """Whatever address a command asks for itself, and however."""
    with web_pages() as (port, _):
        hosts = (f"localhost:{port}",)
        with workspace(tmp_path, lambda settings: replace(settings, hosts=hosts)) as client:
            page = "python3 -c \"import urllib.request as u; print(u.urlopen('{}').read())\""
            assert "just text" in client.shell(page.format(f"http://localhost:{port}/plain"))
            for closed in (f"http://127.0.0.1:{port}/plain", "http://localhost:1/"):
                assert "HTTP Error 403" in client.shell(page.format(closed))
            proxy = client.shell("echo $https_proxy").rpartition(":")[2]
            told = client.shell(ASK.replace("{port}", str(port)).replace("{proxy}", proxy))
            tunnel = client.shell(
                f"exec 3<>/dev/tcp/127.0.0.1/{proxy}; printf 'CONNECT localhost:{port} HTTP/1.1"
                "\\r\\n\\r\\nGET /plain HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
            )
    assert "reached" not in told
    assert "open" not in told
    assert "does not listen\nnot sent" in told
    assert "200 Connection established" in tunnel
    assert "just text" in tunnel
