"""A running daemon's examination of itself, for the page."""

from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.control.control_server import PROOF_AGE
from orchestrator.control.protocol import EXAMINE, DoctorFindings
from orchestrator.control.status_reports import report_status
from orchestrator.extension import Part
from thinker.protocol.peer import Peer, RequestHandler


class DoctorPart(Part):
    """Answers with the findings of `orchestrator doctor`, without trying the jails."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {EXAMINE: self._examine}

    async def _examine(self, params: JsonValue) -> DoctorFindings:
        # Most daemons are never asked, so they do not load it.
        from orchestrator.extensions.doctor.examination import list_findings

        del params
        daemon = self.daemon
        status = await report_status(daemon.operations, PROOF_AGE)
        file, environ = daemon.get_agents_file(), dict(daemon.environ)
        found = await daemon.machine.in_thread(
            lambda: tuple(list_findings(daemon.settings, file, environ, status))
        )
        return DoctorFindings(findings=found)
