"""The extension for versions: a safety net under every change of what people configure."""

from collections.abc import Mapping

from orchestrator.extension import Command, DaemonView, Extension, Part

COMMANDS = "orchestrator.extensions.versions.commands"


class VersionsExtension(Extension):
    """Checks, saves and undoes edits of agents.json, prompts and skills, and keeps versions."""

    name = "versions"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "config": Command(
                "Set up",
                "Edit, compare and undo the configuration, or push it to all machines.",
                f"{COMMANDS}.config",
            ),
            "undo": Command(
                "Set up", "Undo the newest change of the configuration.", f"{COMMANDS}.undo"
            ),
        }

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.versions.versions_part import VersionsPart

        return VersionsPart(daemon)
