"""Pins of MCP tools: a tool is trusted as its server listed it when it was first seen.

A changed description may come from a compromised server, and the model would follow it. A changed
tool is therefore withheld until an operator approves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.errors import UnknownNameError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.rows import Rows

FIRST_SIGHT = "first sight"  # ``by`` of a tool that was pinned without an approval
LATER = "seen later"  # the same, of a tool that its server did not list at first


@dataclass(frozen=True)
class Pin:
    """A pinned tool; ``changed``: its server lists it differently now. ``at`` in milliseconds."""

    server: str
    tool: str
    changed: bool
    by: str
    at: int

    @property
    def open(self) -> bool:
        """Whether an operator may approve it: it has changed, or came later than its server."""
        return self.changed or self.by == LATER

    @property
    def name(self) -> str:
        """The name for operators, which `approve` takes."""
        return f"{self.server}/{self.tool}"


PINS = Rows(Pin, "tool_pin", "server, tool, changed IS NOT NULL, by, at")


def compare(
    db: Database, server: str, listed: Mapping[str, str], now: int
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
                (server, tool, digest, LATER if known else FIRST_SIGHT, now),
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


def fresh(db: Database, server: str) -> list[str]:
    """Return the tools of a server that came later and that an operator has not approved."""
    rows = db.execute("SELECT tool FROM tool_pin WHERE server = ? AND by = ?", (server, LATER))
    return [str(tool) for (tool,) in rows]


def every(db: Database) -> list[Pin]:
    return PINS.select(db, "true ORDER BY server, tool")


def approve(db: Database, name: str, by: str, now: int) -> list[str]:
    """Pin a changed tool (``server/tool``), or all of a server (``server``), as listed now.

    A tool that came later than its server is trusted like the others from then on. Returns the
    names of these tools.

    Raises:
        UnknownNameError: no tool of that name has changed.
    """
    found = [pin.name for pin in every(db) if pin.open and name in (pin.name, pin.server)]
    if not found:
        raise UnknownNameError(f"no tool {name!r} has changed; see 'orchestrator tools list'")
    for subject in found:
        db.execute(
            "UPDATE tool_pin SET sha256 = ifnull(changed, sha256), changed = NULL, by = ?, at = ?"
            " WHERE server || '/' || tool = ?",
            (by, now, subject),
        )
        audit.record(db, by, "approved a tool that changed", subject, now)
    return found
