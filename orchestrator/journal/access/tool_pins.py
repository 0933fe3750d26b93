"""Pins of MCP tools: a tool is trusted as its server listed it when it was first seen.

A changed description may come from a compromised server, and the model would follow it. A changed
tool is therefore withheld until an operator approves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db import audit
from orchestrator.journal.db.rows import Rows

FIRST_SIGHT = "first sight"  # ``by`` of a tool that was pinned without an approval


@dataclass(frozen=True)
class Pin:
    """A pinned tool; ``changed``: its server lists it differently now. ``at`` in milliseconds."""

    server: str
    tool: str
    changed: bool
    by: str
    at: int

    @property
    def name(self) -> str:
        """The name for operators, which `approve` takes."""
        return f"{self.server}/{self.tool}"


PINS = Rows(Pin, "tool_pin", "server, tool, changed IS NOT NULL, by, at")


def compare(
    db: apsw.Connection, server: str, listed: Mapping[str, str], now: int
) -> tuple[frozenset[str], list[str]]:
    """Compare the tools that a server lists with their pins; pin the tools that are new.

    ``listed`` are the digests of the tools by name. Returns the digests that are trusted, and the
    names of the tools found changed by this call.
    """
    rows = db.execute("SELECT tool, sha256, changed FROM tool_pin WHERE server = ?", (server,))
    known = {tool: (digest, changed) for tool, digest, changed in rows}
    fresh = []
    for tool, digest in listed.items():
        pinned, changed = known.get(tool, (None, None))
        if pinned is None:
            db.execute(
                "INSERT INTO tool_pin(server, tool, sha256, by, at) VALUES(?,?,?,?,?)",
                (server, tool, digest, FIRST_SIGHT, now),
            )
            continue
        differs = None if digest == pinned else digest
        if differs == changed:
            continue
        db.execute(
            "UPDATE tool_pin SET changed = ? WHERE server = ? AND tool = ?", (differs, server, tool)
        )
        if differs is not None:
            fresh.append(tool)
            audit.record(db, "pins", "withheld a tool that changed", f"{server}/{tool}", now)
    trusted = [digest for tool, digest in listed.items() if known.get(tool, (digest,))[0] == digest]
    return frozenset(trusted), fresh


def every(db: apsw.Connection) -> list[Pin]:
    return PINS.select(db, "true ORDER BY server, tool")


def approve(db: apsw.Connection, name: str, by: str, now: int) -> list[str]:
    """Pin a changed tool (``server/tool``), or all of a server (``server``), as listed now.

    Returns the names of the tools that were withheld until now.

    Raises:
        OrchestratorError: no tool of that name has changed.
    """
    found = [pin.name for pin in every(db) if pin.changed and name in (pin.name, pin.server)]
    if not found:
        raise OrchestratorError(f"no tool {name!r} has changed; see 'orchestrator tools list'")
    for subject in found:
        db.execute(
            "UPDATE tool_pin SET sha256 = changed, changed = NULL, by = ?, at = ?"
            " WHERE server || '/' || tool = ? AND changed IS NOT NULL",
            (by, now, subject),
        )
        audit.record(db, by, "approved a tool that changed", subject, now)
    return found
