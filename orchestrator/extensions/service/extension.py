"""The extension for the systemd service: one command."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Finding, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.control.protocol import StatusReport
    from orchestrator.settings import Settings


class ServiceExtension(Extension):
    """A systemd service that runs the daemon."""

    name = "service"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "service": Command(
                "Set up",
                "Install, inspect or remove a systemd service.",
                "orchestrator.extensions.service.commands.service",
            )
        }

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        from orchestrator.system.installed_units import list_installed_units

        del settings, file, status
        units = ", ".join(str(unit.path) for unit in list_installed_units(Path.home()))
        return (Finding("service unit", units or "not installed (orchestrator service)"),)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.service.service_part import ServicePart

        return ServicePart(daemon)
