"""The fake MCP server in the words of agents.json, and what it did to the world."""

import sys
from pathlib import Path
from typing import Any

from thinker.protocol.messages import JsonObject

SERVER = Path(__file__).parent / "mcp_server.py"


def entry(folder: Path, name: str, **fields: Any) -> JsonObject:
    """A server over stdio in a daemon with the folder as home; its effects go to its own folder."""
    return {
        "command": sys.executable,
        "args": [str(SERVER)],
        "env": {"EFFECTS": str(record(folder, name))},
        **fields,
    }


def record(folder: Path, name: str) -> Path:
    """Where the effects of a server are told, in the only folder of a home that it reaches."""
    return folder / "servers" / name / "effects.txt"


def effects(folder: Path, name: str) -> list[str]:
    """The effects so far, oldest first."""
    path = record(folder, name)
    return path.read_text("utf-8").splitlines() if path.exists() else []


def held(folder: Path, name: str, gate: Path, **fields: Any) -> JsonObject:
    """The same, but it starts only when the file ``gate`` is there."""
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done; exec {sys.executable} {SERVER}"
    return {**entry(folder, name, **fields), "command": "sh", "args": ["-c", wait]}
