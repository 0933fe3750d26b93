"""The changes that the report commands request from a running daemon."""

from collections.abc import Mapping
from functools import partial

from orchestrator.extension import Part
from orchestrator.extensions.reports import conversations
from thinker.protocol.peer import Peer, RequestHandler

SESSION_END = "sessions/end"  # RowId → Ack


class ReportsPart(Part):
    """Ends conversations."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        change = self.daemon.control.change_row
        return {
            SESSION_END: partial(change, conversations.end_conversation),
        }
