"""The extension for the manual in a terminal: one command."""

from collections.abc import Mapping

from orchestrator.extension import Command, Extension


class ManualExtension(Extension):
    """Prints pages of the manual and finds passages in them."""

    name = "manual"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "help": Command(
                "More",
                "Print a page of the manual, or search all pages.",
                "orchestrator.extensions.manual.commands.help",
            )
        }
