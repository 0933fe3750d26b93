"""What lists of the journal show, for the daemon's answers and without one."""

from orchestrator.control import protocol
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals
from thinker.protocol.names import chat_name


def pairings(db: Database) -> protocol.PairingList:
    """Return the chats that asked for admission."""
    rows = pairing.every(db)
    found = (protocol.PairingReport.from_object(r, created_at=r.created_at / 1000) for r in rows)
    return protocol.PairingList(pairings=tuple(found))


def questions(db: Database, now: int) -> protocol.ApprovalList:
    """Return the calls that need approval and have time left; ``now`` in milliseconds."""
    rows = approvals.waiting(db, now)
    found = (
        protocol.ApprovalReport.from_object(
            row, chat=chat_name(row.chat_key), expires=row.expires / 1000
        )
        for row in rows
    )
    return protocol.ApprovalList(approvals=tuple(found))


def pins(db: Database) -> protocol.PinList:
    """Return the known tools of MCP servers."""
    rows = tool_pins.every(db)
    return protocol.PinList(
        tools=tuple(protocol.PinReport.from_object(row, at=row.at / 1000) for row in rows)
    )
