"""The fake MCP server in the words of agents.json, and what it did to the world."""

import sys
from pathlib import Path
from typing import Any

from thinker.protocol.messages import JsonObject

SERVER = Path(__file__).parent / "mcp_server.py"


def entry(folder: Path, name: str, **fields: Any) -> JsonObject:
    """A server over stdio whose effects go to ``<name>.txt`` in the folder."""
    return {
        "command": sys.executable,
        "args": [str(SERVER)],
        "env": {"EFFECTS": str(folder / f"{name}.txt")},
        **fields,
    }


def effects(folder: Path, name: str) -> list[str]:
    """The effects so far, oldest first."""
    path = folder / f"{name}.txt"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def held(folder: Path, name: str, gate: Path, **fields: Any) -> JsonObject:
    """The same, but it starts only when the file ``gate`` is there."""
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done; exec {sys.executable} {SERVER}"
    return {**entry(folder, name, **fields), "command": "sh", "args": ["-c", wait]}
