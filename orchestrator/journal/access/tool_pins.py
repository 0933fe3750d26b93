"""Pins of MCP tools: what is believed of each is what its server said when it was first seen.

A server that says something else later may be another one, or have changed its mind about what its
tool is for; whoever reads the description, a model, would follow it (S33 of
reference/reliability.md §7).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db import audit

FIRST_SIGHT = "first sight"  # who approved a tool that nobody was asked about


@dataclass(frozen=True)
class Pin:
    """One tool; ``changed``: its server says something else of it now. ``at`` in milliseconds."""

    server: str
    tool: str
    changed: bool
    by: str
    at: int

    @property
    def name(self) -> str:
        """Its name for operators, which `approve` takes."""
        return f"{self.server}/{self.tool}"


def compare(
    db: apsw.Connection, server: str, listed: Mapping[str, str], now: int
) -> tuple[frozenset[str], list[str]]:
    """The digests that are believed, and the tools that have just turned out to be changed.

    ``listed`` are the digests of a server's tools by their names. What was never seen is pinned.
    """
    known = {
        tool: (digest, changed)
        for tool, digest, changed in db.execute(
            "SELECT tool, sha256, changed FROM tool_pin WHERE server = ?", (server,)
        )
    }
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
    believed = [
        digest for tool, digest in listed.items() if known.get(tool, (digest,))[0] == digest
    ]
    return frozenset(believed), fresh


def every(db: apsw.Connection) -> list[Pin]:
    """All tools that were ever seen."""
    rows = db.execute(
        "SELECT server, tool, changed IS NOT NULL, by, at FROM tool_pin ORDER BY server, tool"
    )
    return [Pin(server, tool, bool(changed), by, at) for server, tool, changed, by, at in rows]


def approve(db: apsw.Connection, name: str, by: str, now: int) -> list[str]:
    """Believe what is said now of a tool (``server/tool``), or of all of a server (``server``).

    Returns the names of the tools that were withheld until now.

    Raises:
        OrchestratorError: none of that name has changed.
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
