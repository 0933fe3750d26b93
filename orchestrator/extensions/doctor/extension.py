"""The extension for the doctor: a command, and the daemon's examination."""

from collections.abc import Mapping

from orchestrator.extension import Command, DaemonView, Extension, Part


class DoctorExtension(Extension):
    """Finds problems, and tries each jail from inside."""

    name = "doctor"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "doctor": Command(
                "Set up",
                "Check everything that can go wrong; change nothing.",
                "orchestrator.extensions.doctor.commands.doctor",
            )
        }

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.doctor.doctor_part import DoctorPart

        return DoctorPart(daemon)
