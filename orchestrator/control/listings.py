"""Lists from the journal, for the daemon's answers and for commands without a daemon."""

from orchestrator.chat_texts import describe_source
from orchestrator.control import protocol
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals
from orchestrator.journal.turns.approvals import Approval
from thinker.protocol.names import format_chat_name


def list_pairings(db: Database) -> protocol.PairingList:
    """Return the chats that asked for admission."""
    rows = pairing.list_pairings(db)
    found = (protocol.PairingReport.from_object(r, created_at=r.created_at / 1000) for r in rows)
    return protocol.PairingList(pairings=tuple(found))


def list_approvals(db: Database, now: int) -> protocol.ApprovalList:
    """Return the open questions about calls; ``now`` in milliseconds."""
    rows = approvals.list_pending_approvals(db, now)
    return protocol.ApprovalList(approvals=tuple(_report_question(db, row) for row in rows))


def _report_question(db: Database, row: Approval) -> protocol.ApprovalReport:
    first, *others = approvals.load_question(db, row)
    return protocol.ApprovalReport.from_object(
        first,
        chat=format_chat_name(row.chat_key),
        expires=row.expires / 1000,
        sources=_list_marks(first),
        others=tuple(
            protocol.AskedCallReport.from_object(one, sources=_list_marks(one)) for one in others
        ),
    )


def _list_marks(row: Approval) -> tuple[protocol.ArgumentMark, ...]:
    """Return where the arguments of a call are from, those first that decide where it goes."""
    found = sorted((row.sources or {}).items(), key=lambda item: not item[1][2])
    return tuple(
        protocol.ArgumentMark(argument=path, source=describe_source(kind, name), decides=decides)
        for path, (kind, name, decides) in found
    )


def list_pins(db: Database) -> protocol.PinList:
    """Return the known tools of MCP servers."""
    rows = tool_pins.list_pins(db)
    return protocol.PinList(
        tools=tuple(protocol.PinReport.from_object(row, at=row.at / 1000) for row in rows)
    )
