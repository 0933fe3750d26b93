"""The extension for the terminal: one command."""

from collections.abc import Mapping

from orchestrator.extension import Command, Extension


class TerminalExtension(Extension):
    """A conversation at a terminal."""

    name = "terminal"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "chat": Command(
                "Talk",
                "Talk to an agent of the running daemon.",
                "orchestrator.extensions.terminal.chat",
            )
        }
