"""A client of a tool server that runs as a process, as the tool host would start it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.extensions.workspace.command_order import MIB, CommandLimits
from orchestrator.extensions.workspace.workspace_settings import WorkspaceSettings

# Runs a program on a kernel without Landlock.
OLD_KERNEL = """
import os, sys
from thinker.jail import seccomp
names = [f"landlock_{name}" for name in ("create_ruleset", "add_rule", "restrict_self")]
seccomp.install_filter(seccomp.build_filter((), missing=names))
os.execv(sys.argv[1], sys.argv[1:])
"""
# Grows like a fork bomb, but comes to an end also where nothing stops it.
MANY = "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; sleep 60; }; f 8"
SECRET = "sk-no-command-may-see-this"


class ServerClient:
    """Sends calls, one after the other unless `send` and `receive` are used."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._number = 0

    def send(self, tool: str, **arguments: Any) -> int:
        """Send a call and return its number."""
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        self._write({"id": self._number, "method": "tools/call", "params": params})
        return self._number

    def cancel(self, number: int) -> None:
        """Cancel a call."""
        self._write({"method": "notifications/cancelled", "params": {"requestId": number}})

    def ask(self, method: str) -> dict[str, Any]:
        """The result of another request."""
        self._number += 1
        self._write({"id": self._number, "method": method, "params": {}})
        return dict(self.receive()["result"])

    def receive(self) -> dict[str, Any]:
        """The next answer, whatever it answers."""
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of a call's result."""
        self.send(tool, **arguments)
        return self.text()

    def call_in(self, chat: str, tool: str, **arguments: Any) -> str:
        """The text of a call's result in the folder of a chat."""
        self._number += 1
        meta = {"orchestrator/env": {"ORCHESTRATOR_FOLDER": chat}}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        self._write({"id": self._number, "method": "tools/call", "params": params})
        return self.text()

    def text(self) -> str:
        """The text of the next result."""
        (block,) = self.receive()["result"]["content"]
        return str(block.get("text", block))

    def shell(self, command: str, **arguments: Any) -> str:
        """What a command writes, and how it ends."""
        return self.call("run_command", command=command, **arguments)

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def serving(name: str, settings: str, program: str = "") -> Iterator[ServerClient]:
    """Run a server, through a program, with a secret in the environment around it."""
    argv = [sys.executable, "-P", "-m", f"orchestrator.extensions.workspace.{name}", settings]
    if program:
        argv = [sys.executable, "-P", "-c", program, *argv]
    env = {"PATH": os.environ["PATH"], "API_KEY": SECRET}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        try:
            yield ServerClient(process)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()


@contextmanager
def workspace(
    folder: Path,
    change: Callable[[WorkspaceSettings], WorkspaceSettings] = lambda s: s,
    program: str = "",
) -> Iterator[ServerClient]:
    """Run the server of a workspace with small limits."""
    home = folder / "ws"
    home.mkdir(exist_ok=True)
    settings = WorkspaceSettings(
        workspace=str(home),
        paths={},
        skills=(),
        skill_globs=("*",),
        network=False,
        hosts=(),
        jailed=True,
        limits=CommandLimits(seconds=60, memory=512 * MIB, processes=40, file_size=8 * MIB),
        output=4000,
    )
    with serving("workspace", change(settings).to_json(), program) as client:
        yield client
