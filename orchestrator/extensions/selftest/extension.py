"""The extension for self-tests: a command, and a line in the doctor's report."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from orchestrator.extension import Command, Extension, Finding

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.control.protocol import StatusReport
    from orchestrator.settings import Settings


class SelftestExtension(Extension):
    """Crash trials, attacks and simulated histories of the daemon itself."""

    name = "selftest"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "selftest": Command(
                "More",
                "Prove on this machine that no crash loses or repeats anything.",
                "orchestrator.extensions.selftest.commands.selftest",
            )
        }

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        from orchestrator.extensions.selftest.crash.last_run import check_last_run

        del file, status
        return (check_last_run(settings.paths.last_selftest),)
