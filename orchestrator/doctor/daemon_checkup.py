"""The examination of a running daemon by itself, as the page shows it."""

from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.control.control_server import PROOF_AGE
from orchestrator.control.operations import DaemonOperations
from orchestrator.doctor.findings import DoctorFindings
from orchestrator.files import OffLoop


async def examine(
    daemon: DaemonOperations, environ: Mapping[str, str], in_thread: OffLoop, _: JsonValue = None
) -> DoctorFindings:
    """Look at everything that `orchestrator doctor` does, but for trying the jails."""
    # Most daemons are never asked, and do without it.
    from orchestrator.doctor.examination import findings  # noqa: PLC0415 - see above

    status = await daemon.status(PROOF_AGE)
    file, settings = daemon.configuration.file, daemon.settings
    found = await in_thread(lambda: tuple(findings(settings, file, dict(environ), status)))
    return DoctorFindings(findings=found)
