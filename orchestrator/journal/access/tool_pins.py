"""Pins of MCP tools: a tool is trusted as its server first listed it.

A changed description may come from a compromised server, and the model would follow it. A changed
tool is therefore withheld until an operator approves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows

FIRST_SIGHT = "first sight"  # ``by`` of a tool that was pinned without an approval
CHANGED_AGAIN = "{name} has changed again since you looked at it; look at it once more"
LATER = "seen later"  # the same, for a tool that its server added later


@dataclass(frozen=True)
class Pin:
    """A pinned tool, ``changed`` if its server now lists it differently; ``at`` in milliseconds."""

    server: str
    tool: str
    changed: bool
    by: str
    at: int

    @property
    def needs_approval(self) -> bool:
        """Whether an operator may approve the tool: its server changed it, or added it later."""
        return self.changed or self.by == LATER

    @property
    def name(self) -> str:
        """The name for operators, which `approve_tools` takes."""
        return f"{self.server}/{self.tool}"


PINS = Rows(Pin, "tool_pin", "server, tool, changed IS NOT NULL, by, at")


def compare_with_pins(
    db: Database, server: str, listed: Mapping[str, str], now: int
) -> tuple[frozenset[str], list[str]]:
    """Compare a server's tools with their pins; pin the new ones.

    ``listed`` are the digests of the tools, keyed by name. Returns the digests that are trusted,
    and the names of the tools found changed by this call.
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
            audit.record_decision(
                db, "pins", "withheld a tool that changed", f"{server}/{tool}", now
            )
    trusted = [digest for tool, digest in listed.items() if known.get(tool, (digest,))[0] == digest]
    return frozenset(trusted), fresh


def list_unapproved_tools(db: Database, server: str) -> list[str]:
    """Return a server's later tools that no operator has approved."""
    rows = db.execute("SELECT tool FROM tool_pin WHERE server = ? AND by = ?", (server, LATER))
    return [str(tool) for (tool,) in rows]


def list_pins(db: Database) -> list[Pin]:
    return PINS.select(db, "true ORDER BY server, tool")


def approve_tools(db: Database, name: str, by: str, now: int, seen: str = "") -> list[str]:
    """Pin a changed tool (``server/tool``), or all tools of a ``server``, as listed now.

    Tools that the server added later are trusted from then on, too. ``seen`` is the digest of the
    tool that was looked at, if one was. Returns the names of these tools.

    Raises:
        UnknownNameError: no tool of that name has changed.
        OrchestratorError: the tool is no longer the one that was looked at.
    """
    found = [
        pin.name for pin in list_pins(db) if pin.needs_approval and name in (pin.name, pin.server)
    ]
    if not found:
        raise UnknownNameError(f"no tool {name!r} has changed; see 'orchestrator tools list'")
    for subject in found:
        db.execute(
            "UPDATE tool_pin SET definition = CASE WHEN changed IS NULL THEN definition END,"
            " sha256 = ifnull(changed, sha256), changed = NULL, by = ?, at = ?"
            " WHERE server || '/' || tool = ? AND ? IN('', ifnull(changed, sha256))",
            (by, now, subject, seen),
        )
        if not db.changes():
            raise OrchestratorError(CHANGED_AGAIN.format(name=subject))
        audit.record_decision(db, by, "approved a tool that changed", subject, now)
    return found
