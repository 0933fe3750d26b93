"""The examination of a running daemon by itself, as the page shows it."""

from collections.abc import Mapping

from orchestrator.control.control_server import PROOF_AGE
from orchestrator.control.operations import DaemonOperations
from orchestrator.doctor.examination import findings
from orchestrator.doctor.findings import DoctorFindings
from orchestrator.files import OffLoop


async def checkup(
    daemon: DaemonOperations, environ: Mapping[str, str], in_thread: OffLoop
) -> DoctorFindings:
    """Return what is found; the jails are tried by `orchestrator doctor` alone."""
    status = await daemon.status(PROOF_AGE)
    file, settings = daemon.configuration.file, daemon.settings
    found = await in_thread(lambda: tuple(findings(settings, file, dict(environ), status)))
    return DoctorFindings(findings=found)
