"""Lists from the journal, for the daemon's answers and for commands without a daemon."""

from orchestrator.control import protocol
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals
from thinker.protocol.names import format_chat_name


def list_pairings(db: Database) -> protocol.PairingList:
    """Return the chats that asked for admission."""
    rows = pairing.list_pairings(db)
    found = (protocol.PairingReport.from_object(r, created_at=r.created_at / 1000) for r in rows)
    return protocol.PairingList(pairings=tuple(found))


def list_approvals(db: Database, now: int) -> protocol.ApprovalList:
    """Return the unexpired calls that need approval; ``now`` in milliseconds."""
    rows = approvals.list_pending_approvals(db, now)
    found = (
        protocol.ApprovalReport.from_object(
            row, chat=format_chat_name(row.chat_key), expires=row.expires / 1000
        )
        for row in rows
    )
    return protocol.ApprovalList(approvals=tuple(found))


def list_pins(db: Database) -> protocol.PinList:
    """Return the known tools of MCP servers."""
    rows = tool_pins.list_pins(db)
    return protocol.PinList(
        tools=tuple(protocol.PinReport.from_object(row, at=row.at / 1000) for row in rows)
    )
