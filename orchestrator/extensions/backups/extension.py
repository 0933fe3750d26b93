"""The extension for backups: two commands, and a request to the daemon."""

from collections.abc import Mapping

from orchestrator.extension import Command, DaemonView, Extension, Part

COMMANDS = "orchestrator.extensions.backups.commands"


class BackupsExtension(Extension):
    """Verified backups of a home, and restoring them."""

    name = "backups"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "backup": Command(
                "Data",
                "Write a verified copy of the home, also while the daemon runs.",
                f"{COMMANDS}.backup",
            ),
            "restore": Command(
                "Data",
                "Make a home from a backup, after checking all of it.",
                f"{COMMANDS}.restore",
            ),
        }

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.backups.backups_part import BackupsPart

        return BackupsPart(daemon)
