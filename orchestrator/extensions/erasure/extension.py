"""The extension for erasure: a command that prints, and one that deletes."""

from collections.abc import Mapping

from orchestrator.extension import Command, DaemonView, Extension, Part

COMMANDS = "orchestrator.extensions.erasure.commands"


class ErasureExtension(Extension):
    """Prints or deletes all stored data of a chat or an agent."""

    name = "erasure"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "export": Command(
                "Data",
                "Print everything that is stored about a chat or an agent.",
                f"{COMMANDS}.export",
            ),
            "forget": Command(
                "Data",
                "Delete everything that is stored about a person, a chat or an agent.",
                f"{COMMANDS}.forget",
            ),
        }

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.erasure.erasure_part import ErasurePart

        return ErasurePart(daemon)
