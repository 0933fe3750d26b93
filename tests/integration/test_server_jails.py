"""What a server reaches from inside its jail, through the whole daemon."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from fakes.daemon import RunningDaemon, running_daemon

from orchestrator.control.protocol import StatusReport
from thinker.jail import landlock
from thinker.protocol.messages import JsonObject

pytestmark = [
    pytest.mark.thorough(part="tools"),
    pytest.mark.process,
    pytest.mark.skipif(
        landlock.read_abi_version() < landlock.ABI_SCOPE, reason="the kernel has no such jail"
    ),
]
OPEN = {"TCP", "fork", "exec"}  # a server may use the network and start programs
SENDING = """
import json, os, socket, sys
from pathlib import Path
from mcp.server import MCPServer

def tried(attempt):
    try:
        return attempt()
    except OSError as error:
        return type(error).__name__

def ask(address, text):
    with socket.create_connection(address, 60) as connection:
        connection.sendall(text.encode())
        return connection.recv(99).decode()

web = int(sys.argv[1])
proxy = ("127.0.0.1", int(os.environ["HTTP_PROXY"].rpartition(":")[2]))
whole = f"GET http://127.0.0.1:{web}/ HTTP/1.1\\r\\n\\r\\n"
found = {
    "allowed": tried(lambda: ask(proxy, whole)),
    "other": tried(lambda: ask(proxy, "CONNECT 127.0.0.1:9 HTTP/1.1\\r\\n\\r\\n")),
    "no request": tried(lambda: ask(proxy, "secret\\r\\n\\r\\n")),
    "direct": tried(lambda: ask(("127.0.0.1", int(sys.argv[2])), whole)),
    "by another address": tried(lambda: ask(("127.0.0.2", proxy[1]), whole)),
    "UDP": tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
    "IPv6": tried(lambda: socket.socket(socket.AF_INET6)),
    "MPTCP": tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)),
    "local": tried(lambda: socket.socket(socket.AF_UNIX)),
    "listen": tried(lambda: socket.socket().listen()),
    "fast": tried(lambda: socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", web))),
}
Path("told.json").write_text(json.dumps(found))
MCPServer("sending").run()
"""
HOSTILE = """
import json, os, sys
from pathlib import Path
from mcp.server import MCPServer
from orchestrator.extensions.doctor.reach import try_attempts

def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

host = parent(os.getppid())
pids = {"host": host, "daemon": parent(host)}
try:
    pids["other"] = int(Path(sys.argv[2]).read_text())
except OSError:
    pass
found = [name for name, ok in try_attempts(pids, json.loads(sys.argv[1])) if ok]
places = {name: os.environ.get(name) for name in ("HOME", "TMPDIR", "GIT_CONFIG_GLOBAL")}
Path("told.json").write_text(json.dumps([found, os.getcwd(), places]))
MCPServer("hostile").run()
"""


def server(paths: dict[str, Path], **fields: Any) -> JsonObject:
    """A server that tries everything on processes and paths, before it answers."""
    named = json.dumps({name: str(path) for name, path in paths.items()})
    return {"command": sys.executable, "args": ["-c", HOSTILE, named, "other"], **fields}


@asynccontextmanager
async def daemon_with(
    home: Path, servers: JsonObject, env: Mapping[str, str] | None = None
) -> AsyncIterator[RunningDaemon]:
    """A daemon whose servers are connected."""

    def all_connected(report: StatusReport) -> bool:
        return len(report.tool_servers) == len(servers) and all(
            item.state == "connected" for item in report.tool_servers
        )

    config: JsonObject = {
        "agents": [{"agentId": "work", "llmProvider": "demo", "systemPrompt": "secret"}],
        "mcpServers": servers,
    }
    async with running_daemon(home, config, env=env) as daemon:
        await daemon.until(all_connected)
        yield daemon


def told(home: Path, name: str) -> tuple[set[str], str, dict[str, str]]:
    """What a server reached, its folder and its variables."""
    found, folder, places = json.loads((home / "servers" / name / "told.json").read_text("utf-8"))
    return set(found), folder, places


async def test_server_reaches_neither_the_daemon_nor_its_home(tmp_path: Path) -> None:
    """All but its own folder is closed; the rest of the machine is open for reading alone."""
    home, beside = tmp_path / "home", tmp_path / "beside"
    for made in (beside, home / "hooks", home / "servers" / "other"):
        made.mkdir(parents=True)
    names = ("", "agents.json", "journal.db", "run/control.sock", "hooks", "skills", "agents")
    paths = {name or "home": home / name for name in (*names, "servers", "servers/other")}
    code = Path(landlock.__file__)
    paths |= {"beside": beside, "code": code, "program": code.parents[2]}
    async with daemon_with(home, {"s": server(paths)}) as run:
        report = await run.status()
    found, folder, places = told(home, "s")
    assert found == OPEN | {"beside: list", "code: read", "program: list"}
    assert folder == str(home / "servers" / "s")
    assert places["HOME"] == folder  # it was the daemon's home, which is closed
    assert (home / "servers" / "s").stat().st_mode & 0o777 == 0o700
    (item,) = report.tool_servers
    assert (item.sandbox, item.sandbox_reason) == ("full", "")


SECRETS = (".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".pgpass")
STARTING = (".bashrc", ".cargo/env", ".tmux.conf", ".config/git/config", ".cache/uv/a", ".npm/a")
PLAIN = ("notes/a.txt", ".config/plain/settings")


def make_user(folder: Path) -> dict[str, Path]:
    """The home of a user with keys, with what starts programs, and with other files."""
    paths = {name: folder / name for name in (*SECRETS, *STARTING, *PLAIN)}
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", "utf-8")
    return paths


@pytest.mark.parametrize("read", [None, ["/"]])
async def test_server_reads_no_keys_and_writes_nothing_of_its_user(
    tmp_path: Path, read: list[str] | None
) -> None:
    """Whether all is to be read by default, or because agents.json says so."""
    home, user = tmp_path / "home", tmp_path / "user"
    home.mkdir()
    paths = make_user(user)
    sandbox = {} if read is None else {"sandbox": {"read": read}}
    async with daemon_with(home, {"s": server(paths, **sandbox)}, {"HOME": str(user)}) as daemon:
        report = await daemon.status()
    found, folder, places = told(home, "s")
    assert found == OPEN | {f"{name}: read" for name in (*STARTING, *PLAIN)}
    assert places == {"HOME": folder, "TMPDIR": str(Path(folder, "tmp")), "GIT_CONFIG_GLOBAL": None}
    assert [item.sandbox for item in report.tool_servers] == ["full"]


async def test_server_reads_the_keys_and_writes_the_folders_that_are_named(tmp_path: Path) -> None:
    """A path begins in the home of the user, whatever the server takes for its home."""
    home, user = tmp_path / "home", tmp_path / "user"
    home.mkdir()
    paths = make_user(user)
    sandbox = {"read": ["~/.aws"], "write": ["~/notes"]}
    fields = {"sandbox": sandbox}
    async with daemon_with(home, {"s": server(paths, **fields)}, {"HOME": str(user)}):
        found, _, _ = told(home, "s")
    assert found == OPEN | {
        ".aws/credentials: read",
        *(f"notes/a.txt: {what}" for what in ("read", "write", "mode")),
    }


async def test_narrow_jail_has_named_folders_programs_and_no_network(tmp_path: Path) -> None:
    """What is to be read is not to be written."""
    home = tmp_path / "home"
    kept, changed, closed = (tmp_path / name for name in ("kept", "changed", "closed"))
    for made in (home, kept, changed, closed):
        made.mkdir()
    sandbox = {"read": [str(kept)], "write": [str(changed)], "network": False}
    paths = {"kept": kept, "changed": changed, "closed": closed, "home": home}
    async with daemon_with(home, {"s": server(paths, sandbox=sandbox)}):
        found, folder, places = told(home, "s")
    assert found == {
        *("kept: list", "changed: list", "changed: write", "changed: mode"),
        *("fork", "exec"),
    }
    assert places["HOME"] == folder
    assert places["TMPDIR"] == str(home / "servers" / "s" / "tmp")


async def test_server_without_a_jail_of_its_own_is_in_the_tool_hosts(tmp_path: Path) -> None:
    """It says so in the status; the daemon's home stays closed."""
    home = tmp_path / "home"
    home.mkdir()
    paths = {"home": home, "prompts": home / "prompts"}
    async with daemon_with(home, {"s": server(paths, sandbox="off")}) as daemon:
        report = await daemon.status()
        found, _, _ = told(home, "s")
    # Landlock, which is all there is then, does not look at modes.
    kernel = {"unshare", "netlink", "shared memory"}
    assert found == OPEN | kernel | {"socket", "home: mode", "prompts: mode"}
    assert [item.sandbox for item in report.tool_servers] == ["off"]


@asynccontextmanager
async def web(serve: Callable[[SocketStream], Awaitable[None]]) -> AsyncIterator[int]:
    """The port of a server on loopback."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield listener.extra_attributes[SocketAttribute.local_port]()
        tasks.cancel_scope.cancel()


async def test_server_with_allowed_hosts_reaches_no_others_by_any_address(tmp_path: Path) -> None:
    """It connects to the proxy alone; other kinds of sockets are closed."""
    home = tmp_path / "home"
    home.mkdir()
    seen: list[bytes] = []

    async def serve(stream: SocketStream) -> None:
        async with stream:
            seen.append(await stream.receive())
            await stream.send(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with web(serve) as allowed, web(serve) as other:
        sending: JsonObject = {
            "command": sys.executable,
            "args": ["-c", SENDING, str(allowed), str(other)],
            "sandbox": {"network": [f"127.0.0.1:{allowed}"]},
        }
        async with daemon_with(home, {"s": sending}):
            text = (home / "servers" / "s" / "told.json").read_text("utf-8")
    found = json.loads(text)
    assert found.pop("allowed").startswith("HTTP/1.1 204")
    assert found.pop("other").startswith("HTTP/1.1 403")
    assert found.pop("no request").startswith("HTTP/1.1 400")
    assert set(found.values()) == {"PermissionError"}
    assert len(seen) == 1
    assert b"secret" not in seen[0]
